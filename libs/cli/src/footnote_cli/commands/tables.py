"""`footnote tables`: lists, shows and queries the tables of documents as data."""

from typing import Annotated

import typer
from footnote.edge.v1.tables_pb2 import GetTableRequest, ListTablesRequest, QueryTablesRequest, QueryTablesResponse
from footnote.types.v1.table_pb2 import ColumnType, TableDescription
from footnote_kit.enum_words import enum_word
from footnote_kit.printable import printable
from rich.table import Table

from footnote_cli import listing
from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.listing import read_all
from footnote_cli.session import Session

app = typer.Typer(no_args_is_help=True, help="See and query the tables of documents.")
_Document = Annotated[str, typer.Argument(metavar="DOCUMENT", help=listing.DOCUMENT, show_default=False)]


@app.command("list")
@connected("footnote tables list")
async def list_(session: Session, document_id: _Document) -> None:
    """List the tables of a document with their columns."""
    request = ListTablesRequest(document_id=await listing.document_id(session, document_id))
    found: list[TableDescription] = await read_all(session, session.stub.ListTables, request, "tables")
    if session.as_json:
        print_json({"tables": [as_dict(table) for table in found]})
        return
    if not found:
        session.out.print("The document has no tables.")
    for table in found:
        session.out.print(
            f"{table.number}  {printable(table.name) or '-'}  {table.rows} rows, in queries {table.view}",
            markup=False, highlight=False,
        )  # fmt: skip
        for column in table.columns:
            samples = ", ".join(printable(one) for one in column.samples[:3])
            kind = enum_word(ColumnType.DESCRIPTOR, column.type)
            session.out.print(f"     {printable(column.name)}  ({kind})  {samples}", markup=False, highlight=False)


@app.command()
@connected("footnote tables show")
async def show(
    session: Session,
    document_id: _Document,
    number: Annotated[int, typer.Argument(min=1, help="Number of the table in the document.")] = 1,
    rows: Annotated[int, typer.Option(min=1, max=1000, help="Most rows to show.")] = 20,
) -> None:
    """Show the first rows of a table."""
    document = await listing.document_id(session, document_id)
    found = await session.call(
        session.stub.GetTable, GetTableRequest(document_id=document, number=number, page_size=rows)
    )
    if session.as_json:
        print_json(found)
        return
    lines = [[{one.cell.column: one.text for one in row.cells}.get(column.number, "") for column in found.table.columns]
             for row in found.rows]  # fmt: skip
    session.out.print(_table([column.name for column in found.table.columns], lines))
    if found.total_size > len(found.rows):
        session.out.print(f"{found.total_size} rows in all.")


@app.command()
@connected("footnote tables query")
async def query(
    session: Session,
    statement: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT over the views that `list` names.")],
    documents: Annotated[list[str], typer.Option("--document", "-d", help=listing.DOCUMENT, show_default=False)],
) -> None:
    """Run a SELECT over the tables of documents."""
    ids = [await listing.document_id(session, one) for one in documents]
    response: QueryTablesResponse = await session.call(
        session.stub.QueryTables, QueryTablesRequest(document_ids=ids, query=statement)
    )
    if session.as_json:
        print_json(response)
        return
    result = response.result
    session.out.print(_table(list(result.columns), [[_word(value) for value in row] for row in result.rows]))
    if result.truncated:
        session.out.print(f"There are more rows; these are the first {len(result.rows)}.")


def _table(names: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(printable(name))
    for row in rows:
        table.add_row(*(printable(value) for value in row))
    return table


def _word(value: object) -> str:
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)

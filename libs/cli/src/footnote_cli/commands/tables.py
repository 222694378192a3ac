"""`footnote tables`: lists, shows and queries the tables of documents as data."""

from typing import Annotated

import typer
from footnote.edge.v1.tables_pb2 import GetTableRequest, ListTablesRequest, QueryTablesRequest, QueryTablesResponse
from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, ColumnDescription, ColumnType, TableDescription
from footnote_kit.printable import enum_word, printable

from footnote_cli import listing
from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.listing import read_all
from footnote_cli.render.answer import result_table, rows_table
from footnote_cli.render.text import plural
from footnote_cli.session import Session

app = typer.Typer(no_args_is_help=True, help="Show and query the tables of documents.")
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
            f"{table.number}  {printable(table.name) or '-'}  {plural(table.rows, 'row')}, in queries {table.view}",
            markup=False, highlight=False,
        )  # fmt: skip
        for column in table.columns:
            session.out.print(f"     {_described(column)}", markup=False, highlight=False)


@app.command()
@connected("footnote tables show")
async def show(
    session: Session,
    document_id: _Document,
    number: Annotated[int, typer.Argument(min=1, help="Number of the table in the document.")] = 1,
    rows: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rows.")] = 20,
) -> None:
    """Show the first rows of a table."""
    document = await listing.document_id(session, document_id)
    found = await session.call(
        session.stub.GetTable, GetTableRequest(document_id=document, number=number, page_size=rows)
    )
    if session.as_json:
        print_json(found)
        return
    columns = found.table.columns
    lines = []
    for row in found.rows:
        cells = {one.cell.column: one.text for one in row.cells}
        lines.append([str(row.row), *(cells.get(column.number, "") for column in columns)])
    numbers = [True, *(column.type == COLUMN_TYPE_NUMBER for column in columns)]
    session.out.print(rows_table(["Row", *(column.name for column in columns)], lines, numbers))
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
    session.out.print(result_table(result))
    if result.truncated:
        session.out.print(f"There are more rows; these are the first {len(result.rows)}.")


def _described(column: ColumnDescription) -> str:
    """Return a column's name with its type, its unit, its cells of other types, and some of its texts."""
    said = [enum_word(ColumnType.DESCRIPTOR, column.type).lower()]
    measure = column.measure
    said += [one for one in (measure.currency or measure.unit, f"×10^{measure.scale}" if measure.scale else "") if one]
    said += [printable(column.note)] if column.note else []
    if column.other_cells:
        said.append(f"{plural(column.other_cells, 'other cell')}")
    samples = ", ".join(printable(one) for one in column.samples[:3])
    return f"{printable(column.name)}  ({', '.join(said)})  {samples}"

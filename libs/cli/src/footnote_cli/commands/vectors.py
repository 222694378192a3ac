"""`footnote vectors`: adds texts with vectors made elsewhere from JSON lines, lists and deletes them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from footnote.edge.v1.vectors_pb2 import AddVectorsRequest, DeleteVectorsRequest, ListVectorsRequest
from footnote.types.v1.vector_pb2 import VectorRow
from google.protobuf import json_format

from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json, read_input
from footnote_cli.errors import usage_error
from footnote_cli.listing import read_all
from footnote_cli.session import Session
from footnote_cli.values import confirm, parse_filter

app = typer.Typer(no_args_is_help=True, help="Add, list and delete texts with vectors of your own.")
MOST_BYTES = 3_600_000
MOST_ROWS = 1000
CollectionArgument = Annotated[str, typer.Argument(metavar="COLLECTION", help="Its name or id.", show_default=False)]


def batches(lines: Iterator[str]) -> Iterator[list[VectorRow]]:
    """Return the rows of JSON lines, in batches of one call's size."""
    held: list[VectorRow] = []
    size = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError("it is no JSON object")
            row = json_format.ParseDict(value, VectorRow())
        except (json_format.ParseError, ValueError, RecursionError) as error:
            problem = str(error).split("\n", 1)[0][:200]
            raise usage_error(
                f"Line {number} is no row: {problem}", 'Write each as {"id": "a", "text": "…", "vector": [0.1, …]}.'
            ) from None
        if held and (len(held) == MOST_ROWS or size + row.ByteSize() > MOST_BYTES):
            yield held
            held, size = [], 0
        held.append(row)
        size += row.ByteSize() + 8
    if held:
        yield held


def _lines(path: Path) -> Iterator[str]:
    if str(path) == "-":
        yield from sys.stdin
        return
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeError) as error:
        raise usage_error(f"{path} cannot be read: {error}", "Name a file of JSON lines in UTF-8, or - .") from None


@app.command()
@connected("footnote vectors add")
async def add(
    session: Session,
    collection: CollectionArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines with id, text, metadata, vector; - reads the input.")
    ],
) -> None:
    """Add rows, replacing those with the same ids; rows before a refused one stay."""
    ids: list[str] = []
    found = batches(_lines(file))
    while rows := read_input(lambda: next(found, None)):
        added = await session.call(session.stub.AddVectors, AddVectorsRequest(collection=collection, rows=rows))
        ids += added.ids
    if session.as_json:
        print_json({"count": len(ids), "ids": ids})
    else:
        session.out.print(f"{len(ids)} added.")


@app.command("list")
@connected("footnote vectors list")
async def list_(
    session: Session,
    collection: CollectionArgument,
    filter_: Annotated[
        str, typer.Option("--filter", metavar="JSON", help="Only rows with this metadata, as JSON.")
    ] = "",
    vectors: Annotated[bool, typer.Option("--vectors", help="Show the vectors too, with --json.")] = False,
) -> None:
    """List the rows of a collection in the order of their ids."""
    request = ListVectorsRequest(collection=collection, filter=parse_filter(filter_), include_vectors=vectors)
    rows = await read_all(session, session.stub.ListVectors, request, "rows")
    if session.as_json:
        print_json({"rows": [as_dict(row) for row in rows]})
        return
    for row in rows:
        text = " ".join(row.text.split())
        session.out.print(f"{row.id}  {text[:100]}{'…' if len(text) > 100 else ''}", markup=False, soft_wrap=True)
    if not rows:
        session.out.print("No rows.")


@app.command()
@connected("footnote vectors delete")
async def delete(
    session: Session,
    collection: CollectionArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the rows.", show_default=False)],
    missing: Annotated[bool, typer.Option("--allow-missing", help="Succeed even if some do not exist.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete rows, all or none of those named."""
    await confirm(f"Delete {len(ids)} rows of '{collection}'?", yes)
    request = DeleteVectorsRequest(collection=collection, ids=ids, allow_missing=missing)
    done = await session.call(session.stub.DeleteVectors, request)
    if session.as_json:
        print_json(as_dict(done))
    else:
        session.out.print(f"{done.deleted} deleted.")

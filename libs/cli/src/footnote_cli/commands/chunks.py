"""`footnote chunks`: lists and shows the passages of documents."""

import json
from typing import Annotated

import typer
from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.edge.v1.documents_pb2 import GetChunkRequest, GetChunkResponse, ListChunksRequest
from footnote_kit.printable import printable

from footnote_cli import listing
from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.listing import read_all, show_list
from footnote_cli.render import tables, words
from footnote_cli.render.text import moment
from footnote_cli.session import Session

app = typer.Typer(no_args_is_help=True, help="Show the passages that documents were cut into.")


@app.command("list")
@connected("footnote chunks list")
async def list_(
    session: Session,
    document_id: Annotated[str, typer.Argument(metavar="DOCUMENT", help=listing.DOCUMENT, show_default=False)],
) -> None:
    """List a document's chunks in reading order."""
    request = ListChunksRequest(document_id=await listing.document_id(session, document_id))
    chunks: list[Chunk] = await read_all(session, session.stub.ListChunks, request, "chunks")
    show_list(session, "chunks", chunks, tables.chunks, "The document has no chunks that are searched.")


@app.command()
@connected("footnote chunks show")
async def show(
    session: Session,
    chunk_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the chunk.", show_default=False)],
) -> None:
    """Show one chunk with its whole text and its place."""
    response: GetChunkResponse = await session.call(session.stub.GetChunk, GetChunkRequest(chunk_id=chunk_id))
    chunk = response.chunk
    if session.as_json:
        print_json(chunk)
        return
    session.out.print(tables.fields({name: value for name, value in _values(chunk).items() if value}))
    session.out.print()
    session.out.print(printable(chunk.text), markup=False, highlight=False, soft_wrap=True)


def _values(chunk: Chunk) -> dict[str, str]:
    span = chunk.locator.span
    return {
        "where": tables.place(chunk),
        "headings": " › ".join(chunk.locator.heading_path),
        "characters": f"{span.start}–{span.end}" if span.end else "",
        "collection": chunk.collection,
        "document": chunk.document_id,
        "revision": str(chunk.revision or ""),
        "cut by": words.strategy(chunk.chunking_strategy),
        "language": chunk.language,
        "tokens": str(chunk.token_count or ""),
        "parent": chunk.parent_id,
        "tags": ", ".join(chunk.tags),
        "metadata": json.dumps(as_dict(chunk.metadata), ensure_ascii=False) if chunk.metadata.fields else "",
        "uploaded": moment(chunk.create_time),
        "expires": moment(chunk.expire_time),
    }

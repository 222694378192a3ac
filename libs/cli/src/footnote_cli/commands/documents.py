"""`footnote documents`: list, get, update, cancel, delete, download, replace, reindex, watch."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer
from footnote.client.uploads import name_of
from footnote.edge.v1.documents_pb2 import (
    CancelDocumentRequest,
    DeleteDocumentRequest,
    DeleteDocumentResponse,
    Document,
    DownloadDocumentRequest,
    GetDocumentRequest,
    ListDocumentsRequest,
    ReindexDocumentsRequest,
    ReindexDocumentsResponse,
    ReplaceDocumentRequest,
    ReplaceDocumentResponse,
    ReplaceMetadata,
    UpdateDocumentRequest,
    UpdateDocumentResponse,
)
from footnote.types.v1 import document_pb2
from footnote_kit.printable import printable_line
from google.protobuf.field_mask_pb2 import FieldMask

from footnote_cli import listing
from footnote_cli.command import connected
from footnote_cli.console import as_dict, is_screen, print_json, write_bytes
from footnote_cli.errors import usage_error
from footnote_cli.following import follow_collection, follow_document
from footnote_cli.listing import list_documents, show_list
from footnote_cli.operating import follow_operation, show_end
from footnote_cli.render import tables, words
from footnote_cli.render.text import moment, plural, size
from footnote_cli.session import Session
from footnote_cli.transfers import Download, read_parts
from footnote_cli.values import confirm, parse_duration, parse_metadata, parse_moment

app = typer.Typer(no_args_is_help=True, help="Show, replace, reindex, download and delete documents.")
_TRANSFER_TIMEOUT = 600.0

IdArgument = Annotated[str, typer.Argument(metavar="ID", help=listing.DOCUMENT, show_default=False)]
WaitOption = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is searchable.")]
_STATES = ("uploaded", "processing", "indexed", "error")


@app.command("list")
@connected("footnote documents list")
async def list_(
    session: Session,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Only of this collection.")
    ] = "",
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only in this state: uploaded, processing, indexed, error."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Only whose file name contains this.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; repeated, with all of them.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only of this type: pdf, docx, md …; repeatable.")
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option("--language", metavar="CODE", help="Only in this language: en, fr …; repeatable."),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Only uploaded since: 2026-01-31 or 2026-01-31T08:00 here, 2026-01-31T08:00Z, or 7d ago.",
        ),
    ] = "",
    before: Annotated[
        str, typer.Option(metavar="TIME", help="Only uploaded before this time, written as for --since.")
    ] = "",
    outdated: Annotated[
        bool,
        typer.Option("--outdated", help="Only those indexed with other settings than the collection has now; with -c."),
    ] = False,
    order: Annotated[
        str,
        typer.Option(
            metavar="ORDER",
            help="create_time, filename, size_bytes or update_time, 'desc' after it for the other way round; "
            "'create_time desc' if not given.",
        ),
    ] = "",
) -> None:
    """List documents, newest first."""
    unknown = [word for word in state or () if word.lower() not in _STATES]
    if unknown:
        raise usage_error(f"There is no state '{unknown[0]}'.", f"Choose from: {', '.join(_STATES)}.")
    states = [document_pb2.DocumentState.Value(f"DOCUMENT_STATE_{word.upper()}") for word in state or ()]
    request = ListDocumentsRequest(
        collection=collection,
        states=states,
        filename_contains=name,
        tags=tag or (),
        document_types=kind or (),
        languages=language or (),
        created_after=parse_moment(since) if since else None,
        created_before=parse_moment(before) if before else None,
        order_by=order,
        outdated=outdated,
    )
    items = await list_documents(session, request)
    none = (
        "There are no such documents."
        if name or state or collection or tag or kind or language or since or before or outdated
        else "There are no documents yet. Add some: footnote ingest PATH"
    )
    show_list(session, "documents", items, tables.documents, none)


@app.command()
@connected("footnote documents get")
async def get(session: Session, document_id: IdArgument) -> None:
    """Show one document."""
    request = GetDocumentRequest(document_id=await listing.document_id(session, document_id))
    response = await session.call(session.stub.GetDocument, request)
    await _show(session, response.document)


@app.command()
@connected("footnote documents update")
async def update(
    session: Session,
    document_id: IdArgument,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="The new tags; repeatable.")] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Remove all tags.")] = False,
    meta: Annotated[
        list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="The new metadata; repeatable.")
    ] = None,
    no_meta: Annotated[bool, typer.Option("--no-meta", help="Remove all metadata.")] = False,
    ttl: Annotated[str, typer.Option(metavar="TIME", help="Searchable from now on for: 90s, 30m, 24h, 7d.")] = "",
    keep: Annotated[bool, typer.Option("--keep", help="Remove the expiry time.")] = False,
) -> None:
    """Change a document's tags, metadata or expiry; searches see it at once."""
    if (tag and no_tags) or (meta and no_meta) or (ttl and keep):
        raise usage_error(
            "An option that sets a value and the one that removes it exclude each other.",
            "Give one of the two options.",
        )
    changes = Document(tags=tag or ())
    paths = ["tags"] if tag or no_tags else []
    if meta or no_meta:
        changes.metadata.CopyFrom(parse_metadata(meta or ()))
        paths.append("metadata")
    if ttl or keep:
        if ttl:
            changes.expire_time.FromDatetime(datetime.now(UTC) + parse_duration(ttl).ToTimedelta())
        paths.append("expire_time")
    if not paths:
        raise usage_error("There is nothing to change.", "Give --tag, --meta or --ttl.")
    document_id = await listing.document_id(session, document_id)
    request = UpdateDocumentRequest(document_id=document_id, resource=changes, update_mask=FieldMask(paths=paths))
    response: UpdateDocumentResponse = await session.call(session.stub.UpdateDocument, request)
    await _show(session, response.document)


@app.command()
@connected("footnote documents cancel")
async def cancel(session: Session, document_id: IdArgument) -> None:
    """Stop the processing of a document; its last indexed revision stays searchable."""
    document_id = await listing.document_id(session, document_id)
    response = await session.call(session.stub.CancelDocument, CancelDocumentRequest(document_id=document_id))
    await _show(session, response.document)


@app.command()
@connected("footnote documents delete")
async def delete(
    session: Session,
    document_ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of the documents.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    allow_missing: Annotated[bool, typer.Option("--allow-missing", help="Succeed even if some do not exist.")] = False,
) -> None:
    """Delete documents with everything indexed from them."""
    document_ids = [await listing.document_id(session, name) for name in document_ids]
    await confirm(f"Delete {plural(len(document_ids), 'document')}?", yes)
    results = []
    try:
        for document_id in document_ids:
            request = DeleteDocumentRequest(document_id=document_id, allow_missing=allow_missing)
            response: DeleteDocumentResponse = await session.call(session.stub.DeleteDocument, request)
            results.append({"document_id": document_id, "chunks_deleted": response.chunks_deleted})
            if not session.as_json:
                session.out.print(f"Deleted {document_id} with {plural(response.chunks_deleted, 'chunk')}.")
    finally:  # also what was deleted before one that failed
        if session.as_json and results:
            print_json({"deleted": results})


@app.command()
@connected("footnote documents download")
async def download(
    session: Session,
    document_id: IdArgument,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="PATH", help="File or folder to write to; - is the standard output."),
    ] = ".",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    revision: Annotated[
        int | None,
        typer.Option("--revision", min=1, help="The revision that a footnote names; else the one that searches see."),
    ] = None,
) -> None:
    """Download a document as it was uploaded."""
    document_id = await listing.document_id(session, document_id)
    request = DownloadDocumentRequest(document_id=document_id, revision=revision)
    parts = session.stream(session.stub.DownloadDocument, request, timeout=_TRANSFER_TIMEOUT)
    if output == "-":
        if is_screen() and not force:
            raise usage_error(
                "A document's bytes are not written to a terminal.",
                "Pipe them to another program, or give --output FILE.",
            )
        async for part in parts:
            write_bytes(part.data)
        return
    file = Download(Path(output), force=force)
    try:
        async for part in parts:
            await asyncio.to_thread(file.write, part.file.filename, part.data)
        file.finish()
    finally:
        file.abandon()
    if session.as_json:
        print_json({"document_id": document_id, "path": str(file.target), "size_bytes": file.size})
    else:
        session.out.print(printable_line(f"Wrote {file.target} ({size(file.size)})."), soft_wrap=True)


@app.command()
@connected("footnote documents replace")
async def replace(
    session: Session,
    document_id: IdArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The new file.", show_default=False)],
    wait: WaitOption = True,
) -> None:
    """Replace a document's file; the old one stays searchable until the new one is indexed."""
    path = Path(file)
    if not await asyncio.to_thread(path.is_file):
        raise usage_error(f"There is no file {file}.", "Check the path.")

    document_id = await listing.document_id(session, document_id)

    async def parts() -> AsyncIterator[ReplaceDocumentRequest]:
        metadata = ReplaceMetadata(document_id=document_id, filename=name_of(path), request_id=uuid4().hex)
        yield ReplaceDocumentRequest(metadata=metadata)
        async for data in read_parts(path):
            yield ReplaceDocumentRequest(data=data)

    stub = session.stub
    response: ReplaceDocumentResponse = await session.call(stub.ReplaceDocument, parts(), timeout=_TRANSFER_TIMEOUT)
    document = response.document
    if response.unchanged and not session.as_json:
        session.out.print("The bytes are the same as before; nothing changed.")
    elif wait:
        document = await follow_document(session, document.id)
    await _show(session, document)
    _exit_if_failed([document])


@app.command()
@connected("footnote documents reindex")
async def reindex(
    session: Session,
    document_ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids of the documents.", show_default=False)
    ] = None,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="All documents of this collection.")
    ] = "",
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    outdated: Annotated[
        bool, typer.Option("--outdated", help="Only those indexed with other settings than the collection has now.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until all of them are.")] = True,
) -> None:
    """Reindex documents with their collection's current settings, or retry those that failed."""
    if not document_ids and not collection:
        raise usage_error("No documents are named.", "Give document ids or --collection NAME.")
    if document_ids and collection:
        raise usage_error("Document ids and --collection exclude each other.", "Give one of them.")
    ids = [await listing.document_id(session, name) for name in document_ids or ()]
    request = ReindexDocumentsRequest(
        document_ids=ids, collection=collection, failed_only=failed, outdated_only=outdated
    )
    response: ReindexDocumentsResponse = await session.call(session.stub.ReindexDocuments, request)
    operation = response.operation
    show_end(session, await follow_operation(session, operation) if wait else operation)


@app.command()
@connected("footnote documents watch")
async def watch(
    session: Session,
    document_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the document.", show_default=False)] = "",
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Every document of this collection.")
    ] = "",
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing is being processed.")] = False,
) -> None:
    """Follow a document until it is done, or a collection until Ctrl-C. With --json, one document per line."""
    if bool(document_id) == bool(collection):
        raise usage_error("Neither a document nor a collection is named.", "Give a document id or --collection NAME.")
    if collection:
        await follow_collection(session, collection, until_idle)
        return
    document_id = await listing.document_id(session, document_id)
    _exit_if_failed([await follow_document(session, document_id, show=True)])


async def _show(session: Session, document: Document) -> None:
    if session.as_json:
        print_json(document)
        return
    session.out.print(tables.documents([document]))
    values = {
        "title": document.title,
        "type": document.mime_type,
        "language": document.language,
        "pages": str(document.page_count or ""),
        "words": str(document.word_count or ""),
        "keywords": ", ".join(document.keywords),
        "tags": ", ".join(document.tags),
        "metadata": json.dumps(as_dict(document.metadata), ensure_ascii=False) if document.metadata.fields else "",
        "cut by": words.cut_by(document),
        "revision": str(document.revision),
        "indexed": moment(document.index_time),
        "expires": moment(document.expire_time),
        "sha-256": document.sha256,
        "not searched": words.replacement(document),
        "waits for": words.waiting_in_full(document),
        "noticed": words.noticed(document),
        "what to do": document.failure.hint,
    }
    session.out.print(tables.fields({name: value for name, value in values.items() if value}))


def _exit_if_failed(documents: list[Document]) -> None:
    if any(document.state == document_pb2.DOCUMENT_STATE_ERROR for document in documents):
        raise typer.Exit(1)

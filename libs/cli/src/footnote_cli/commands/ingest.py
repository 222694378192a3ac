"""`footnote ingest`: uploads files and folders to a collection, with progress and a list of failures."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest
from footnote.edge.v1.documents_pb2 import UploadMetadata
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.printable import printable_line

from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import EXIT_FAILED, CommandError, sentence, usage_error
from footnote_cli.files import Found, find_files
from footnote_cli.ingestion import Ingestor, Observer, Outcome
from footnote_cli.render import tables
from footnote_cli.render.progress import BarReport, PlainReport
from footnote_cli.render.text import elapsed, plural
from footnote_cli.session import Session
from footnote_cli.values import parse_duration, parse_metadata

_DEFAULT = "default"
_NAMED = 3  # paths named in a message about what was left out


@connected("footnote ingest")
async def ingest(
    session: Session,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, folders or quoted patterns like 'docs/**/*.pdf'.")
    ],
    collection: Annotated[
        str,
        typer.Option("--collection", "-c", metavar="NAME", help="Collection for the files; created if it is missing."),
    ] = _DEFAULT,
    create: Annotated[
        bool, typer.Option("--create/--no-create", help="Create the collection if it is missing.")
    ] = True,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag for every file; may be given several times.")
    ] = None,
    meta: Annotated[
        list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata for every file; repeatable.")
    ] = None,
    source_type: Annotated[str, typer.Option(metavar="WORD", help="Where the files come from.")] = "",
    ttl: Annotated[str, typer.Option(metavar="TIME", help="How long they stay searchable: 90s, 30m, 24h, 7d.")] = "",
    allow_duplicate: Annotated[
        bool, typer.Option("--allow-duplicate", help="Store files again whose bytes are stored already.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            max=32,
            help="Concurrent uploads. Up to 64 small files count as one upload, of which at most 8 run at once.",
        ),
    ] = 4,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is searchable.")] = True,
    follow_symlinks: Annotated[bool, typer.Option("--follow-symlinks", help="Follow symbolic links.")] = False,
) -> None:
    """Upload documents and wait until each is searchable. Exit code 1 if any failed or a folder cannot be read."""
    found = await asyncio.to_thread(find_files, paths, follow_symlinks=follow_symlinks)
    files = found.files
    if not files and found.unread:
        raise usage_error(_unread(found.unread), "Check the permissions of these folders, and where links lead.")
    if not files and found.links:
        raise usage_error(_left_out(found.links), "Take what they lead to with --follow-symlinks.")
    if not files:
        raise usage_error("There are no files there.", "Give files, or a folder with files that are not hidden.")
    metadata = UploadMetadata(
        collection=collection,
        tags=tag or (),
        metadata=parse_metadata(meta or ()),
        source_type=source_type,
        allow_duplicate=allow_duplicate,
    )
    if ttl:
        metadata.ttl.CopyFrom(parse_duration(ttl))
    began = time.perf_counter()
    if await _ensure_collection(session, collection, create) and not session.as_json:
        session.err.print(f"Created collection '{collection}'.")
    name = _shortest_names(files)
    outcomes = await _run(session, files, metadata, name, jobs, wait, follow_symlinks)
    took = time.perf_counter() - began
    if session.as_json:
        print_json(_as_json(outcomes, found, took))
    else:
        if found.links:
            hint = "Take what they lead to with --follow-symlinks."
            session.err.print(f"{_left_out(found.links)} {hint}", style="yellow", soft_wrap=True)
        if found.unread:
            session.err.print(_unread(found.unread), style="red", soft_wrap=True)
        _summarise(session, outcomes, took, name)
    if found.unread or any(outcome.failed for outcome in outcomes):
        raise typer.Exit(EXIT_FAILED)


async def _ensure_collection(session: Session, name: str, create: bool) -> bool:
    """Create the collection unless it exists; return whether it was created."""
    try:
        await session.call(session.stub.GetCollection, GetCollectionRequest(collection=name))
    except CommandError as error:
        if error.reason != "COLLECTION_NOT_FOUND" or not create:
            raise
    else:
        return False
    if name == _DEFAULT:
        return False  # the first upload creates this one, also for callers who may create no other
    try:
        await session.call(session.stub.CreateCollection, CreateCollectionRequest(collection=Collection(name=name)))
    except CommandError as error:
        if error.reason == "PERMISSION_DENIED":
            problem = f"There is no collection '{name}', and your role may not make it."
            raise CommandError(problem, "Ask an administrator for it.", code=error.code, reason=error.reason) from error
        if error.reason != "COLLECTION_EXISTS":
            raise
        return False
    return True


async def _run(
    session: Session,
    files: Sequence[Path],
    metadata: UploadMetadata,
    name: Callable[[Path], str],
    jobs: int,
    wait: bool,
    follow: bool,
) -> list[Outcome]:
    async def bring(observer: Observer) -> list[Outcome]:
        try:
            return await Ingestor(session, metadata, observer, jobs=jobs, wait=wait, follow=follow).run(files)
        except asyncio.CancelledError:
            session.err.print("What was uploaded goes on being indexed; see: footnote documents list")
            raise

    if session.as_json:
        return await bring(Observer())
    if not session.err.is_terminal:
        return await bring(PlainReport(session.err, name))
    with BarReport(session.err, name, len(files)) as bars:
        return await bring(bars)


def _shortest_names(files: Sequence[Path]) -> Callable[[Path], str]:
    """Return display names for files: the name, or enough of the path to distinguish it from namesakes."""
    names = {file: file.name for file in files}
    for depth in (2, 3, 4):
        counts = Counter(names.values())
        names = {file: name if counts[name] == 1 else "/".join(file.parts[-depth:]) for file, name in names.items()}
    return lambda path: names[path]


def _summarise(session: Session, outcomes: Sequence[Outcome], took: float, name: Callable[[Path], str]) -> None:
    failed = [outcome for outcome in outcomes if outcome.failed]
    fresh = [outcome for outcome in outcomes if not outcome.failed and not outcome.duplicate]
    chunks = sum(outcome.document.chunk_count for outcome in fresh if outcome.document is not None)
    known = len(outcomes) - len(failed) - len(fresh)
    parts = [plural(len(outcomes), "document") + f" in {elapsed(took)}"]
    parts.append(f"{len(fresh)} new" + (f" with {plural(chunks, 'chunk')}" if chunks else ""))
    if known:
        parts.append(f"{known} there already")
    if failed:
        parts.append(f"{len(failed)} failed")
        session.out.print(
            tables.failures((name(outcome.path), sentence(outcome.error), outcome.hint) for outcome in failed)
        )
    session.out.print(", ".join(parts) + ".", style="red" if failed else "green")


def _left_out(links: Sequence[Path]) -> str:
    """Return how many symbolic links were skipped, and the paths of the first few."""
    return printable_line(f"Left out {plural(len(links), 'symbolic link')}: {_first(links)}.")


def _unread(paths: Sequence[Path]) -> str:
    """Return that folders cannot be read and links lead to nothing, and the paths of the first few."""
    return printable_line(f"Cannot read {plural(len(paths), 'folder or link', 'folders or links')}: {_first(paths)}.")


def _first(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths[:_NAMED])) + (", …" if len(paths) > _NAMED else "")


def _as_json(outcomes: Sequence[Outcome], found: Found, took: float) -> dict[str, object]:
    documents = []
    for outcome in outcomes:
        entry: dict[str, object] = {"path": str(outcome.path), "failed": outcome.failed, "duplicate": outcome.duplicate}
        if outcome.document is not None:
            entry["document"] = as_dict(outcome.document)
        if outcome.failed:
            entry["error"] = {"reason": outcome.reason, "message": outcome.error, "hint": outcome.hint}
        documents.append(entry)
    failed = sum(outcome.failed for outcome in outcomes)
    skipped = [{"path": str(link), "reason": "SYMLINK"} for link in found.links]
    skipped += [{"path": str(path), "reason": "UNREADABLE"} for path in found.unread]
    return {
        "documents": documents,
        "total": len(outcomes),
        "failed": failed,
        "skipped": skipped,
        "seconds": round(took, 3),
    }

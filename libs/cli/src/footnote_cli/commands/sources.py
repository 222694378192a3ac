"""`footnote sources`: add, list, show, items, sync, watch, update, delete, kinds."""

import getpass
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.operations_pb2 import GetOperationRequest
from footnote_kit.printable import printable_line
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct

from footnote_cli.command import connected
from footnote_cli.console import print_json, read_input
from footnote_cli.errors import usage_error
from footnote_cli.listing import read_all, show_list
from footnote_cli.operating import follow_operation, show_end
from footnote_cli.render import tables
from footnote_cli.render.fitted import FittedTable
from footnote_cli.render.tables import enum_word
from footnote_cli.render.text import moment
from footnote_cli.session import Session
from footnote_cli.values import confirm, parse_duration, parse_metadata

app = typer.Typer(no_args_is_help=True, help="Keep collections in step with sites, repositories, buckets and folders.")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the source.", show_default=False)]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of its kind; repeatable, once for each entry of a list. See: footnote sources kinds",
    ),
]
SecretOption = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME",
        help="A secret, read from the input, a line each, or NAME=@FILE from a file; repeatable.",
    ),
]
EveryOption = Annotated[str, typer.Option("--every", metavar="TIME", help="How often: 5m, 1h, 7d.")]
PausedOption = Annotated[
    bool | None, typer.Option("--paused/--scheduled", help="Synchronise on request only, or by its schedule.")
]
_FIRST = {
    "web": "url",
    "git": "url",
    "feed": "url",
    "bucket": "bucket",
    "folder": "path",
    "mailbox": "path",
    "imap": "host",
}
"""The setting for the second argument of `add`, by kind."""


@app.command()
@connected("footnote sources add")
async def add(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="web, git, bucket, folder, mailbox, imap, feed, …")],
    where: Annotated[str, typer.Argument(metavar="WHERE", help="Its address, path or bucket.")],
    collection: Annotated[str, typer.Option("--collection", "-c", metavar="NAME", help="Into this one.")] = "default",
    name: Annotated[str, typer.Option(metavar="TEXT", help="Its name. Default: its address.")] = "",
    settings: SetOption = None,
    secret: SecretOption = None,
    every: EveryOption = "",
    paused: PausedOption = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the first synchronisation.")] = True,
) -> None:
    """Add a source to a collection, and synchronise it."""
    values = {**await _settings(session, kind, settings or ()), _FIRST.get(kind, "url"): where}
    source = pb.Source(name=name or where[:100], collection=collection, kind=kind, paused=bool(paused))
    source.settings.update(values)
    if secret:
        source.secrets.CopyFrom(_secrets(secret))
    if every:
        source.interval.CopyFrom(parse_duration(every))
    made = (await session.call(session.stub.CreateSource, pb.CreateSourceRequest(source=source))).source
    if wait and made.operation_id:
        first = GetOperationRequest(operation_id=made.operation_id)
        await follow_operation(session, (await session.call(session.stub.GetOperation, first)).operation)
        made = (await session.call(session.stub.GetSource, pb.GetSourceRequest(source_id=made.id))).source
    _show(session, made)
    if made.state == pb.SOURCE_STATE_AWAY or made.items_failed:
        raise typer.Exit(1)


@app.command("list")
@connected("footnote sources list")
async def list_(
    session: Session,
    collection: Annotated[str, typer.Option("--collection", "-c", metavar="NAME", help="Only of this one.")] = "",
) -> None:
    """List the sources of the collections that you may write to."""
    request = pb.ListSourcesRequest(collection=collection)
    found = await read_all(session, session.stub.ListSources, request, "sources")
    show_list(session, "sources", found, _table, "There are no sources. Add one with: footnote sources add")


@app.command()
@connected("footnote sources show")
async def show(session: Session, source_id: IdArgument) -> None:
    """Show one source and how far it is synchronised."""
    _show(session, (await session.call(session.stub.GetSource, pb.GetSourceRequest(source_id=source_id))).source)


@app.command()
@connected("footnote sources items")
async def items(
    session: Session,
    source_id: IdArgument,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="Only in this state: pending, in_step, failed, skipped; repeatable."),
    ] = None,
) -> None:
    """List the items of a source, with the reasons of those that are not synchronised."""
    known = [word.removeprefix("SOURCE_ITEM_STATE_").lower() for word in pb.SourceItemState.keys()[1:]]
    if unknown := [word for word in state or () if word.lower() not in known]:
        raise usage_error(f"There is no state '{unknown[0]}'.", f"Choose from: {', '.join(known)}.")
    states = [pb.SourceItemState.Value(f"SOURCE_ITEM_STATE_{word.upper()}") for word in state or ()]
    request = pb.ListSourceItemsRequest(source_id=source_id, states=states)
    found = await read_all(session, session.stub.ListSourceItems, request, "items")
    show_list(session, "items", found, _items, "There are no such items.")


@app.command()
@connected("footnote sources sync")
async def sync(
    session: Session,
    source_id: IdArgument,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is synchronised.")] = True,
) -> None:
    """Synchronise a source now."""
    operation = (await session.call(session.stub.SyncSource, pb.SyncSourceRequest(source_id=source_id))).operation
    show_end(session, await follow_operation(session, operation) if wait else operation)


@app.command()
@connected("footnote sources watch")
async def watch(session: Session, source_id: IdArgument) -> None:
    """Follow a source: one line after each change."""
    request = pb.WatchSourceRequest(source_id=source_id)
    async for update in session.stream(session.stub.WatchSource, request, timeout=7200.0):
        if session.as_json:
            print_json(update.source, line=True)
        else:
            session.out.print(printable_line(_sentence(update.source)))


@app.command()
@connected("footnote sources update")
async def update(
    session: Session,
    source_id: IdArgument,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Another name.")] = "",
    settings: SetOption = None,
    secret: SecretOption = None,
    every: EveryOption = "",
    paused: PausedOption = None,
) -> None:
    """Change a source. Settings are added to those that it has; secrets are replaced as a whole."""
    wanted, paths = pb.Source(), []
    if name:
        wanted.name = name
        paths.append("name")
    if settings:
        now = (await session.call(session.stub.GetSource, pb.GetSourceRequest(source_id=source_id))).source
        wanted.settings.update({**MessageToDict(now.settings), **await _settings(session, now.kind, settings)})
        wanted.etag = now.etag
        paths.append("settings")
    if secret:
        wanted.secrets.CopyFrom(_secrets(secret))
        paths.append("secrets")
    if every:
        wanted.interval.CopyFrom(parse_duration(every))
        paths.append("interval")
    if paused is not None:
        wanted.paused = paused
        paths.append("paused")
    if not paths:
        raise usage_error("There is nothing to change.", "Give --name, --set, --secret, --every or --paused.")
    request = pb.UpdateSourceRequest(source_id=source_id, resource=wanted, update_mask=FieldMask(paths=paths))
    _show(session, (await session.call(session.stub.UpdateSource, request)).source)


@app.command()
@connected("footnote sources delete")
async def delete(
    session: Session,
    source_id: IdArgument,
    with_documents: Annotated[bool, typer.Option("--with-documents", help="Delete its documents too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a source. Its documents stay unless --with-documents is given."""
    what = "and all its documents" if with_documents else "and keep its documents"
    await confirm(f"Delete the source {source_id} {what}?", yes=yes)
    request = pb.DeleteSourceRequest(source_id=source_id, with_documents=with_documents)
    response = await session.call(session.stub.DeleteSource, request)
    if response.HasField("operation"):
        show_end(session, await follow_operation(session, response.operation))
    elif session.as_json:
        print_json(response)
    else:
        session.out.print("The source is deleted; its documents stay.")


@app.command()
@connected("footnote sources kinds")
async def kinds(session: Session) -> None:
    """List the kinds of sources, with their settings and secrets."""
    response = await session.call(session.stub.ListSourceKinds, pb.ListSourceKindsRequest())
    if session.as_json:
        print_json(response)
        return
    for kind in response.kinds:
        session.out.print(printable_line(f"{kind.id}: {kind.display_name}"), style="bold")
        for title, schema in (("", kind.settings_schema), ("secret ", kind.secrets_schema)):
            for setting, rule in MessageToDict(schema).get("properties", {}).items():
                said = printable_line(f"  {title}{setting}: {rule.get('description', '')}")
                session.out.print(said, soft_wrap=True)


async def _settings(session: Session, kind: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Return settings in the types of their kind: a text stays one that looks like a number, a list takes entries."""
    if not pairs:
        return {}
    kinds = (await session.call(session.stub.ListSourceKinds, pb.ListSourceKindsRequest())).kinds
    schema = next((MessageToDict(one.settings_schema) for one in kinds if one.id == kind), {})
    found: dict[str, Any] = {}
    for pair in pairs:
        ((name, value),) = MessageToDict(parse_metadata([pair])).items()
        rule = schema.get("properties", {}).get(name, {})
        text = pair.partition("=")[2]
        if rule.get("type") == "array":
            entries = value if isinstance(value, list) else [_typed(rule.get("items", {}), value, text)]
            found[name] = [*found.get(name, ()), *entries]
        else:
            found[name] = _typed(rule, value, text)
    return found


def _typed(rule: Mapping[str, Any], value: Any, text: str) -> Any:
    return text if rule.get("type") == "string" and not isinstance(value, str) else value


def _secrets(names: list[str]) -> Struct:
    """Return secrets read from files or standard input, so that they appear in no process list or shell history."""
    secrets = Struct()
    for given in names:
        name, from_file, path = given.partition("=@")
        if "=" in name:
            raise usage_error(
                "Secrets are not accepted on the command line.", "Give --secret NAME, then type or pipe its value."
            )
        if from_file:
            try:
                text = Path(path).read_text("utf-8")
                # Editors and `echo` end the line of a password; a key of several lines needs its last end.
                secrets[name] = text.removesuffix("\n") if text.count("\n") == 1 else text
            except (OSError, UnicodeError) as error:
                raise usage_error(f"The secret's file cannot be read: {error}", "Give --secret NAME=@FILE.") from None
        elif sys.stdin.isatty():
            secrets[name] = read_input(partial(getpass.getpass, f"{name}: "))
        else:
            secrets[name] = read_input(lambda: sys.stdin.readline()).rstrip("\r\n")
    return secrets


def _sentence(source: pb.Source) -> str:
    counts = f"{source.items_in_step} of {source.items} in step"
    more = [f"{source.items_failed} failed"] if source.items_failed else []
    more += [f"{source.items_skipped} left out"] if source.items_skipped else []
    more += [source.error.message] if source.HasField("error") else []
    state = "running" if source.operation_id else enum_word(pb.SourceState, source.state)
    return f"{state}: {', '.join([counts, *more])}"


def _table(found: list[pb.Source]) -> FittedTable:
    table = FittedTable(
        "Name", "Kind", "Collection", "State", "Items", "In step since", "Id",
        optional=("In step since", "Collection"), whole=("Id",),
    )  # fmt: skip
    for source in found:
        state = "running" if source.operation_id else enum_word(pb.SourceState, source.state)
        table.add_row(
            printable_line(source.name), source.kind, source.collection, state,
            f"{source.items_in_step} of {source.items}", moment(source.in_step_time), source.id,
        )  # fmt: skip
    return table


def _items(found: list[pb.SourceItem]) -> FittedTable:
    table = FittedTable("Item", "State", "Why", "Document", "Since", optional=("Since", "Document"), whole=("State",))
    for item in found:
        why = printable_line(item.message)
        table.add_row(
            printable_line(item.item), enum_word(pb.SourceItemState, item.state), why, item.document_id,
            moment(item.sync_time),
        )  # fmt: skip
    return table


def _show(session: Session, source: pb.Source) -> None:
    if session.as_json:
        print_json(source)
        return
    settings = ", ".join(f"{name}={value}" for name, value in MessageToDict(source.settings).items())
    values = {
        "id": source.id,
        "name": source.name,
        "kind": source.kind,
        "collection": source.collection,
        "state": _sentence(source),
        "settings": settings,
        "secrets": ", ".join(source.secret_names),
        "every": f"{source.interval.seconds // 60} minutes" if not source.paused else "when asked",
        "in step": moment(source.in_step_time),
        "away since": moment(source.away_since),
        "next": moment(source.next_sync_time),
        "said": " ".join(source.notices),
    }
    session.out.print(tables.fields({name: value for name, value in values.items() if value}))

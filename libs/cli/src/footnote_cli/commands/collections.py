"""`footnote collections`: list, create, get, update, share, unshare, delete."""

from typing import Annotated

import typer
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    DeleteCollectionResponse,
    GetCollectionRequest,
    UpdateCollectionRequest,
)
from footnote.types.v1 import collection_pb2
from footnote.types.v1.collection_pb2 import Collection, Grant
from google.protobuf.field_mask_pb2 import FieldMask

from footnote_cli.command import connected
from footnote_cli.console import print_json
from footnote_cli.errors import usage_error
from footnote_cli.listing import list_collections, show_list
from footnote_cli.operating import exit_if_failed, follow_operation, show_end
from footnote_cli.render import tables
from footnote_cli.session import Session
from footnote_cli.settings import check_path, parse_settings, show_counting
from footnote_cli.values import confirm, parse_duration, parse_metadata

app = typer.Typer(no_args_is_help=True, help="Create, show, change and delete collections.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name or id of the collection.", show_default=False)]
DescriptionOption = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for, in words.")]
MetaOption = Annotated[list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Free metadata; repeatable.")]
PrivateOption = Annotated[
    bool | None,
    typer.Option(
        "--private/--shared",
        help="Visible to its owner, administrators and those it is shared with; or to the whole tenant.",
    ),
]
VisibilityOption = Annotated[str, typer.Option(metavar="WHO", help="private or shared, as --private and --shared.")]
# Not --user, which names the caller.
WithOption = Annotated[list[str] | None, typer.Option("--with", metavar="ID", help="A user of the tenant; repeatable.")]
GroupOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A group of users; repeatable.")]
TtlOption = Annotated[str, typer.Option(metavar="TIME", help="How long documents stay searchable: 90s, 30m, 24h, 7d.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting, for example chunking.size=800 or chunking.strategy=paragraph; repeatable. "
        "`footnote collections get` shows them.",
    ),
]
UnsetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unset",
        metavar="KEY",
        help="A setting to leave to the deployment again, such as retrieval.limit; repeatable.",
    ),
]


@app.command("list")
@connected("footnote collections list")
async def list_(session: Session) -> None:
    """List the collections you can see."""
    items = await list_collections(session)
    none = "There are no collections yet. Make one by adding documents: footnote ingest PATH"
    show_list(session, "collections", items, tables.collections, none)


@app.command()
@connected("footnote collections create")
async def create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.", show_default=False)],
    description: DescriptionOption = None,
    meta: MetaOption = None,
    private: PrivateOption = None,
    ttl: TtlOption = "",
    settings: SetOption = None,
) -> None:
    """Make a collection."""
    collection = _collection(name, description, meta, private, ttl, settings)
    response = await session.call(session.stub.CreateCollection, CreateCollectionRequest(collection=collection))
    _show(session, response.collection)


@app.command()
@connected("footnote collections get")
async def get(session: Session, name: NameArgument) -> None:
    """Show a collection with all its settings."""
    response = await session.call(session.stub.GetCollection, GetCollectionRequest(collection=name))
    _show(session, response.collection)


@app.command()
@connected("footnote collections update")
async def update(
    session: Session,
    name: NameArgument,
    description: DescriptionOption = None,
    meta: MetaOption = None,
    private: PrivateOption = None,
    visibility: VisibilityOption = "",
    ttl: TtlOption = "",
    settings: SetOption = None,
    unset: UnsetOption = None,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Reindex the documents that the change makes outdated, and wait.")
    ] = False,
) -> None:
    """Change a collection; what is not given stays as it is. A collection opened to all loses its grants."""
    private = _private(private, visibility)
    resource = _collection("", description, meta, private, ttl, settings)
    request = UpdateCollectionRequest(collection=name, resource=resource, reindex=reindex)
    given = {"description": description is not None, "metadata": bool(meta), "visibility": private is not None}
    request.update_mask.paths.extend(path for path, is_given in given.items() if is_given)
    if private is False:
        request.update_mask.paths.append("grants")
    if ttl:
        request.update_mask.paths.append("settings.ttl")
    request.update_mask.paths.extend(f"settings.{pair.partition('=')[0].strip()}" for pair in settings or ())
    request.update_mask.paths.extend(f"settings.{check_path(path)}" for path in unset or ())
    if not request.update_mask.paths:
        raise usage_error(
            "There is nothing to change.", "Give --description, --meta, --visibility, --ttl, --set, --unset."
        )
    response = await session.call(session.stub.UpdateCollection, request)
    operation = response.operation
    if response.HasField("operation"):
        operation = await follow_operation(session, operation)
        if not session.as_json:
            show_end(session, operation)
        response = await session.call(session.stub.GetCollection, GetCollectionRequest(collection=name))
    _show(session, response.collection)
    exit_if_failed(operation)


@app.command()
@connected("footnote collections rename")
async def rename(
    session: Session, name: NameArgument, new_name: Annotated[str, typer.Argument(help="The new name.")]
) -> None:
    """Rename a collection; its documents stay searchable."""
    request = UpdateCollectionRequest(
        collection=name, resource=Collection(name=new_name), update_mask=FieldMask(paths=["name"])
    )
    _show(session, (await session.call(session.stub.UpdateCollection, request)).collection)


@app.command()
@connected("footnote collections share")
async def share(
    session: Session,
    name: NameArgument,
    with_: WithOption = None,
    group: GroupOption = None,
    write: Annotated[bool, typer.Option("--write", help="Let them write too, if their role is writer.")] = False,
) -> None:
    """Share a private collection with users and groups, or change the access of those who have it."""
    access = collection_pb2.ACCESS_WRITE if write else collection_pb2.ACCESS_READ
    added = [Grant(user_id=one, access=access) for one in with_ or ()]
    added += [Grant(group=one, access=access) for one in group or ()]
    await _regrant(session, name, added, added)


@app.command()
@connected("footnote collections unshare")
async def unshare(session: Session, name: NameArgument, with_: WithOption = None, group: GroupOption = None) -> None:
    """Stop sharing a private collection with users and groups."""
    gone = [Grant(user_id=one) for one in with_ or ()] + [Grant(group=one) for one in group or ()]
    await _regrant(session, name, gone, [])


@app.command()
@connected("footnote collections delete")
async def delete(
    session: Session,
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is deleted completely.")] = True,
) -> None:
    """Delete a collection with all its documents; it is hidden from all callers at once."""
    await confirm(f"Delete collection '{name}' with all its documents?", yes)
    request = DeleteCollectionRequest(collection=name)
    response: DeleteCollectionResponse = await session.call(session.stub.DeleteCollection, request)
    operation = response.operation
    show_end(session, await follow_operation(session, operation) if wait else operation)


async def _regrant(session: Session, name: str, gone: list[Grant], added: list[Grant]) -> None:
    """Remove and add grants of a collection; the etag detects a concurrent change."""
    if not gone:
        raise usage_error("No user or group is named.", "Give --with or --group, each as often as needed.")
    found = (await session.call(session.stub.GetCollection, GetCollectionRequest(collection=name))).collection
    named = {(one.user_id, one.group) for one in gone}
    kept = [one for one in found.grants if (one.user_id, one.group) not in named]
    change = Collection(etag=found.etag, grants=[*kept, *{(one.user_id, one.group): one for one in added}.values()])
    request = UpdateCollectionRequest(collection=found.id, resource=change, update_mask=FieldMask(paths=["grants"]))
    _show(session, (await session.call(session.stub.UpdateCollection, request)).collection)


def _private(flag: bool | None, visibility: str) -> bool | None:
    """Return the visibility that --private, --shared or --visibility give; None without any of them."""
    if not visibility:
        return flag
    word = visibility.lower()
    if word not in ("private", "shared") or (flag is not None and flag != (word == "private")):
        raise usage_error(f"A collection cannot be '{visibility}' here.", "Give --visibility private or shared, once.")
    return word == "private"


def _collection(
    name: str,
    description: str | None,
    meta: list[str] | None,
    private: bool | None,
    ttl: str,
    settings: list[str] | None,
) -> Collection:
    collection = Collection(name=name, description=description or "", metadata=parse_metadata(meta or ()))
    if private is not None:
        collection.visibility = collection_pb2.VISIBILITY_PRIVATE if private else collection_pb2.VISIBILITY_SHARED
    collection.settings.CopyFrom(parse_settings(settings or ()))
    if ttl:
        collection.settings.ttl.CopyFrom(parse_duration(ttl))
    return collection


def _show(session: Session, collection: Collection) -> None:
    if session.as_json:
        print_json(collection)
        return
    session.out.print(tables.collections([collection]))
    if collection.grants:
        session.out.print(tables.grants(collection.grants))
    session.out.print(tables.fields(show_counting(collection.settings, collection.effective_settings)))
    if collection.outdated_documents:
        session.out.print(
            f"Documents indexed with other settings than these: {collection.outdated_documents}. "
            f"Bring them up to date: footnote documents reindex --collection '{collection.name}' --outdated"
        )

"""`footnote conversations`: list, show, share, update, regenerate, edit, delete."""

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from footnote.edge.v1.answers_pb2 import ANSWER_PART_CLAIMS, ANSWER_PART_MANIFEST, ANSWER_PART_SOURCES
from footnote.edge.v1.conversations_pb2 import (
    ConversationMessage,
    DeleteConversationRequest,
    EditMessageRequest,
    GetConversationRequest,
    GetSharedConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
    RestoreMessageRequest,
    ShareConversationRequest,
    SharedConversation,
    UnshareConversationRequest,
    UpdateConversationRequest,
)
from footnote.types.v1 import answer_pb2
from footnote_kit.printable import printable_line

from footnote_cli import listing
from footnote_cli.command import connected
from footnote_cli.commands import ask as asking
from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import usage_error
from footnote_cli.listing import read_all, show_list
from footnote_cli.render import answer as drawing
from footnote_cli.render import tables
from footnote_cli.render.answer import computation
from footnote_cli.render.text import moment
from footnote_cli.session import Session
from footnote_cli.values import confirm

app = typer.Typer(
    no_args_is_help=True, help="Show, change and delete conversations; `ask --new-conversation` begins one."
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help=listing.CONVERSATION, show_default=False)]
ProviderOption = Annotated[str, typer.Option(metavar="NAME", help="Model provider that answers.")]
ModelOption = Annotated[str, typer.Option(metavar="NAME", help="Model that answers.")]


@app.command("list")
@connected("footnote conversations list")
async def list_(
    session: Session,
    query: Annotated[
        str, typer.Option("--query", "-q", metavar="TEXT", help="Only those with this in their title or messages.")
    ] = "",
) -> None:
    """List your conversations, the latest first."""
    request = ListConversationsRequest(query=query)
    items = await read_all(session, session.stub.ListConversations, request, "conversations")
    none = (
        "No conversation has that in its title or its messages."
        if query
        else "There are no conversations yet. Begin one: footnote ask QUESTION --new-conversation"
    )
    show_list(session, "conversations", items, tables.conversations, none)


@app.command()
@connected("footnote conversations show")
async def show(
    session: Session,
    conversation_id: IdArgument,
    ids: Annotated[bool, typer.Option("--ids", help="Print the id of each message, for edit and regenerate.")] = False,
) -> None:
    """Print what was said, with the footnotes of each answer."""
    conversation_id = await listing.conversation_id(session, conversation_id)
    request = GetConversationRequest(conversation_id=conversation_id)
    conversation = (await session.call(session.stub.GetConversation, request)).conversation
    request_messages = ListMessagesRequest(conversation_id=conversation_id)
    if session.as_json:
        request_messages.include.extend((ANSWER_PART_SOURCES, ANSWER_PART_CLAIMS, ANSWER_PART_MANIFEST))
    messages = await read_all(session, session.stub.ListMessages, request_messages, "messages")
    if session.as_json:
        print_json({"conversation": as_dict(conversation), "messages": [as_dict(item) for item in messages]})
        return
    session.out.print(printable_line(conversation.title) or "(no title yet)", style="bold")
    _print_messages(session, messages, ids=ids)


def _print_messages(session: Session, messages: Sequence[ConversationMessage], *, ids: bool = False) -> None:
    out = session.out
    width = out.width if out.is_terminal else 0
    for message in messages:
        out.print()
        if ids:
            out.print(message.id, style="dim")
        if message.role == answer_pb2.MESSAGE_ROLE_USER:
            out.print(f"> {message.text}", style="cyan", soft_wrap=width == 0)
            continue
        out.print(message.text, soft_wrap=width == 0)
        lines = [*drawing.footnotes(message.answer.citations, width), *drawing.nearest(message.answer, width)]
        made = computation(message.answer.computation)
        for line in (*lines, *made, *drawing.notices(message.degradations)):
            out.print(line, soft_wrap=True)


AnswerOption = Annotated[
    str, typer.Option("--answer", metavar="MESSAGE", help="Only this answer with its question; `show --ids` has it.")
]


@app.command()
@connected("footnote conversations share")
async def share(session: Session, conversation_id: IdArgument, answer: AnswerOption = "") -> None:
    """Let other users of the tenant read the conversation so far, if they may read its collections."""
    conversation_id = await listing.conversation_id(session, conversation_id)
    request = ShareConversationRequest(conversation_id=conversation_id, answer_id=answer)
    shared = (await session.call(session.stub.ShareConversation, request)).shared
    if session.as_json:
        print_json(as_dict(shared))
        return
    session.out.print(f"Shared as {shared.share_id}. Others read it: footnote conversations shared {shared.share_id}")
    session.out.print(f"In the console it is at #/shared/{shared.share_id}")


@app.command()
@connected("footnote conversations unshare")
async def unshare(session: Session, conversation_id: IdArgument, answer: AnswerOption = "") -> None:
    """Stop sharing a conversation and its answers, or one answer alone."""
    conversation_id = await listing.conversation_id(session, conversation_id)
    request = UnshareConversationRequest(conversation_id=conversation_id, answer_id=answer)
    await session.call(session.stub.UnshareConversation, request)
    if session.as_json:
        print_json({"unshared": answer or conversation_id})
    else:
        session.out.print(f"Shared no longer: {answer or conversation_id}.")


@app.command()
@connected("footnote conversations shared")
async def shared(
    session: Session,
    share_id: Annotated[str, typer.Argument(metavar="SHARE", help="Id that its user gave you.", show_default=False)],
) -> None:
    """Print a conversation or an answer that another user shares."""
    request = GetSharedConversationRequest(share_id=share_id)
    if session.as_json:
        request.include.extend((ANSWER_PART_SOURCES, ANSWER_PART_CLAIMS))
    head = SharedConversation()

    async def pages(request: Any, **more: Any) -> Any:
        page = await session.stub.GetSharedConversation(request, **more)
        head.CopyFrom(page.shared)
        return page

    messages = await read_all(session, pages, request, "messages")
    if session.as_json:
        print_json({"shared": as_dict(head), "messages": [as_dict(item) for item in messages]})
        return
    title = "A shared answer" if head.answer_id else printable_line(head.title) or "(no title yet)"
    session.out.print(title, style="bold")
    session.out.print(f"Shared by {printable_line(head.user_id)} on {moment(head.share_time)}", style="dim")
    _print_messages(session, messages)


@app.command()
@connected("footnote conversations update")
async def update(
    session: Session,
    conversation_id: IdArgument,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="New title; '' generates one.")] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Ask this collection from now on; repeatable."),
    ] = None,
    every_collection: Annotated[
        bool, typer.Option("--every-collection", help="Ask every visible collection from now on.")
    ] = False,
) -> None:
    """Change a conversation's title, or the collections that it asks."""
    if collection and every_collection:
        raise usage_error("--collection and --every-collection exclude each other.", "Give one of them.")
    conversation_id = await listing.conversation_id(session, conversation_id)
    request = UpdateConversationRequest(conversation_id=conversation_id)
    request.resource.title = title or ""
    request.resource.collections.extend(collection or ())
    if title is not None:
        request.update_mask.paths.append("title")
    if collection or every_collection:
        request.update_mask.paths.append("collections")
    if not request.update_mask.paths:
        raise usage_error("There is nothing to change.", "Give --title, --collection or --every-collection.")
    changed = (await session.call(session.stub.UpdateConversation, request)).conversation
    if session.as_json:
        print_json(as_dict(changed))
    else:
        asks = ", ".join(changed.collections) or "every visible collection"
        session.out.print(printable_line(f"{changed.title or '(no title yet)'}: asks {asks}."))


@app.command()
@connected("footnote conversations regenerate")
async def regenerate(
    session: Session,
    message_id: Annotated[str, typer.Argument(metavar="MESSAGE", help="Id of an answer.", show_default=False)],
    provider: ProviderOption = "",
    model: ModelOption = "",
) -> None:
    """Answer a question again; the new answer replaces the old one."""
    request = RegenerateMessageRequest(message_id=message_id)
    await _answer_again(session, session.stub.RegenerateMessage, request, provider, model)


@app.command()
@connected("footnote conversations edit")
async def edit(
    session: Session,
    message_id: Annotated[str, typer.Argument(metavar="MESSAGE", help="Id of a question.", show_default=False)],
    text: Annotated[str, typer.Argument(metavar="QUESTION", help="The new text of the question.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the replaced messages for `restore`.")] = False,
    provider: ProviderOption = "",
    model: ModelOption = "",
) -> None:
    """Rephrase a question; the new one replaces it and everything after it."""
    await confirm("Replace this question and everything after it?", yes or keep)
    request = EditMessageRequest(message_id=message_id, text=text, keep_replaced=keep)
    await _answer_again(session, session.stub.EditMessage, request, provider, model)


@app.command()
@connected("footnote conversations restore")
async def restore(
    session: Session,
    message_id: Annotated[str, typer.Argument(metavar="MESSAGE", help="A version of a question.", show_default=False)],
) -> None:
    """Restore what `edit --keep` replaced; the current version is kept instead."""
    changed = (
        await session.call(session.stub.RestoreMessage, RestoreMessageRequest(message_id=message_id))
    ).conversation
    if session.as_json:
        print_json(as_dict(changed))
    else:
        session.out.print(f"Restored {message_id}.")


async def _answer_again(session: Session, method: Callable[..., Any], request: Any, provider: str, model: str) -> None:
    request.include.extend(asking.FOR_PROGRAMS if session.as_json else asking.SHOWN)
    if provider:
        request.generation.provider = provider
    if model:
        request.generation.model = model
    began = time.perf_counter()
    completed = await asking.stream(session, method, request)
    if session.as_json:
        print_json(as_dict(completed))
    else:
        seconds = time.perf_counter() - began
        computed = await asking.computation(session, completed.answer.computation)
        asking.print_footnotes(session.out, completed, seconds, computed)


@app.command()
@connected("footnote conversations delete")
async def delete(
    session: Session,
    conversation_id: IdArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Delete a conversation, also from memory."""
    conversation_id = await listing.conversation_id(session, conversation_id)
    await confirm("Delete this conversation?", yes)
    request = DeleteConversationRequest(conversation_id=conversation_id)
    await session.call(session.stub.DeleteConversation, request)
    if session.as_json:
        print_json({"deleted": conversation_id})
    else:
        session.out.print(f"Deleted {conversation_id}.")

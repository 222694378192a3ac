"""`footnote conversations`: list, show, delete."""

from typing import Annotated

import typer
from footnote.edge.v1.answers_pb2 import ANSWER_PART_CLAIMS, ANSWER_PART_MANIFEST, ANSWER_PART_SOURCES
from footnote.edge.v1.conversations_pb2 import (
    DeleteConversationRequest,
    GetConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
)
from footnote.types.v1 import answer_pb2
from footnote_kit.printable import printable_line

from footnote_cli import naming
from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.listing import read_all
from footnote_cli.render import answer as drawing
from footnote_cli.render import tables
from footnote_cli.session import Session
from footnote_cli.values import confirm

app = typer.Typer(no_args_is_help=True, help="See and delete conversations; `ask --new-conversation` begins one.")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help=naming.CONVERSATION, show_default=False)]


@app.command("list")
@connected("footnote conversations list")
async def list_(session: Session) -> None:
    """List your conversations, the latest first."""
    items = await read_all(session, session.stub.ListConversations, ListConversationsRequest(), "conversations")
    if session.as_json:
        print_json({"conversations": [as_dict(item) for item in items]})
    elif items:
        session.out.print(tables.conversations(items))
    else:
        session.out.print("There are no conversations yet. Begin one: footnote ask QUESTION --new-conversation")


@app.command()
@connected("footnote conversations show")
async def show(session: Session, conversation_id: IdArgument) -> None:
    """Print what was said, with the footnotes of each answer."""
    conversation_id = await naming.conversation_id(session, conversation_id)
    request = GetConversationRequest(conversation_id=conversation_id)
    conversation = (await session.call(session.stub.GetConversation, request)).conversation
    listing = ListMessagesRequest(conversation_id=conversation_id)
    if session.as_json:
        listing.include.extend((ANSWER_PART_SOURCES, ANSWER_PART_CLAIMS, ANSWER_PART_MANIFEST))
    messages = await read_all(session, session.stub.ListMessages, listing, "messages")
    if session.as_json:
        print_json({"conversation": as_dict(conversation), "messages": [as_dict(item) for item in messages]})
        return
    out = session.out
    width = out.width if out.is_terminal else 0
    out.print(printable_line(conversation.title) or "(no title yet)", style="bold")
    for message in messages:
        out.print()
        if message.role == answer_pb2.MESSAGE_ROLE_USER:
            out.print(f"> {message.text}", style="cyan", soft_wrap=width == 0)
            continue
        out.print(message.text, soft_wrap=width == 0)
        for line in (*drawing.footnotes(message.answer.citations, width), *drawing.notices(message.degradations)):
            out.print(line, soft_wrap=True)


@app.command()
@connected("footnote conversations delete")
async def delete(
    session: Session,
    conversation_id: IdArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Delete a conversation with everything remembered of it."""
    conversation_id = await naming.conversation_id(session, conversation_id)
    await confirm("Delete this conversation?", yes)
    request = DeleteConversationRequest(conversation_id=conversation_id)
    await session.call(session.stub.DeleteConversation, request)
    if session.as_json:
        print_json({"deleted": conversation_id})
    else:
        session.out.print(f"Deleted {conversation_id}.")

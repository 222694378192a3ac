"""`footnote ask`: answers a question from the documents, as a stream, with footnotes below."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TextIO

import typer
from footnote.edge.v1.answers_pb2 import (
    ANSWER_PART_CLAIMS,
    ANSWER_PART_MANIFEST,
    ANSWER_PART_SOURCES,
    ANSWER_PART_STAGES,
    ANSWER_PART_TIMINGS,
    ANSWER_PART_TOKEN_PLAN,
    AskCompleted,
    AskRequest,
)
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, CreateConversationResponse
from footnote.edge.v1.tables_pb2 import QueryTablesRequest
from footnote.types.v1 import answer_pb2
from footnote.types.v1.table_pb2 import TableComputation
from rich.console import Console, RenderableType
from rich.status import Status
from rich.text import Text

from footnote_cli import listing
from footnote_cli.command import connected
from footnote_cli.commands.status import own_waterfall
from footnote_cli.console import as_dict, print_json, read_input
from footnote_cli.errors import CommandError, usage_error
from footnote_cli.render import answer
from footnote_cli.render import answer as drawing
from footnote_cli.render.text import WordWrapper
from footnote_cli.session import Session
from footnote_cli.values import parse_filter

_DOING = {
    answer_pb2.PIPELINE_STAGE_RETRIEVAL: "Searching",
    answer_pb2.PIPELINE_STAGE_AUGMENTATION: "Choosing sources",
    answer_pb2.PIPELINE_STAGE_GENERATION: "Writing",
}

_LONGEST = 100_000
"""Maximum characters of a question read from standard input."""

SHOWN = (ANSWER_PART_STAGES, ANSWER_PART_SOURCES, ANSWER_PART_CLAIMS, ANSWER_PART_TIMINGS)
FOR_PROGRAMS = (*SHOWN, ANSWER_PART_TOKEN_PLAN, ANSWER_PART_MANIFEST)


@connected("footnote ask")
async def ask(
    session: Session,
    question: Annotated[
        str,
        typer.Argument(metavar="QUESTION", help="The question; - reads it from standard input.", show_default=False),
    ],
    collection: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            help="Ask this collection; may be given several times. Default: every visible one.",
        ),
    ] = None,
    conversation: Annotated[
        str, typer.Option(metavar="ID", help="Answer in this conversation, by id or 'last', and add to it.")
    ] = "",
    new_conversation: Annotated[
        bool, typer.Option("--new-conversation", help="Begin a conversation and print its id.")
    ] = False,
    document: Annotated[
        list[str] | None, typer.Option("--document", metavar="ID", help="Only from this document, by id; repeatable.")
    ] = None,
    filter_: Annotated[
        str,
        typer.Option(
            "--filter", metavar="JSON", help='Only from passages with this metadata, as JSON: {"year": {"$gte": 2024}}.'
        ),
    ] = "",
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", min=0, max=100, help="Passages to retrieve; 0 leaves it to the collection."
        ),
    ] = 0,
    provider: Annotated[str, typer.Option(metavar="NAME", help="Model provider that answers.")] = "",
    model: Annotated[str, typer.Option(metavar="NAME", help="Model that answers.")] = "",
    trace: Annotated[bool, typer.Option("--trace", help="Show where the time went, span by span.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer and its footnotes.")] = False,
) -> None:
    """Ask a question; the answer streams, and its footnotes give the source of each sentence."""
    if question == "-":
        question = read_input(lambda: read_question(sys.stdin))
    if not question.strip():
        raise usage_error("The question is empty.", 'Ask like this: footnote ask "How many days of leave do I have?"')
    conversation = await listing.conversation_id(session, conversation)
    request = AskRequest(question=question, conversation_id=conversation, filter=parse_filter(filter_))
    request.include.extend(FOR_PROGRAMS if session.as_json else SHOWN)
    request.collections.extend(collection or ())
    request.document_ids.extend([await listing.document_id(session, name) for name in document or ()])
    if limit:
        request.retrieval.limit = limit
    if provider:
        request.generation.provider = provider
    if model:
        request.generation.model = model
    if new_conversation:
        request.conversation_id = await _new_conversation(session, collection or ())
    began = time.perf_counter()
    completed = await stream(session, session.stub.Ask, request)
    elapsed = time.perf_counter() - began
    waterfall = await own_waterfall(session, completed.trace_id) if trace else None
    if session.as_json:
        result = as_dict(completed)
        if waterfall is not None:
            result["spans"] = [as_dict(span) for span in waterfall.spans]
        print_json(result)
        return
    computed = [] if quiet else await computation(session, completed.answer.computation)
    print_footnotes(session.out, completed, elapsed, computed, quiet=quiet)
    if waterfall is not None:
        session.out.print()
        session.out.print(waterfall)


async def _new_conversation(session: Session, collections: list[str] | tuple[()]) -> str:
    request = CreateConversationRequest(collections=collections)
    response: CreateConversationResponse = await session.call(session.stub.CreateConversation, request)
    return response.conversation.id


async def stream(session: Session, method: Callable[..., Any], request: Any) -> AskCompleted:
    """Print an answer as it arrives, unless the output is for machines, and return its last event."""
    console = session.out
    screen = AnswerScreen(console, silent=session.as_json)
    try:
        async for event in session.stream(method, request):
            kind = event.WhichOneof("event")
            if kind == "stage":
                screen.stage(event.stage.stage, event.stage.finished)
            elif kind == "text_delta":
                screen.text(event.text_delta)
            elif kind == "completed":
                screen.finish(event.completed.answer.text)
                completed: AskCompleted = event.completed
                return completed
    except CommandError:
        screen.abandon()
        raise
    screen.abandon()
    raise CommandError("The server ended the answer without completing it.", "Ask again; the server's log says why.")


class AnswerScreen:
    """Shows the answer while it is being written."""

    def __init__(self, console: Console, *, silent: bool = False) -> None:
        self._console = console
        self._silent = silent
        self._shown = ""
        # Only a terminal is wrapped: readers of a pipe want the lines unchanged.
        self._wrapper = WordWrapper(self._write, console.width if console.is_terminal else 0)
        self._status: Status | None = None

    def stage(self, stage: int, finished: bool) -> None:
        """Show the current stage until the first words arrive."""
        if self._silent or self._shown or finished or not self._console.is_terminal or stage not in _DOING:
            return
        words = f"{_DOING[answer_pb2.PipelineStage.ValueType(stage)]}…"
        if self._status is None:
            self._status = self._console.status(words)
            self._status.start()
        else:
            self._status.update(words)

    def text(self, delta: str) -> None:
        """Show the next words."""
        self._stop_status()
        self._shown += delta
        if not self._silent:
            self._wrapper.feed(delta)

    def finish(self, final: str) -> None:
        """End the text. The `final` text is authoritative: if it differs from what was shown, it is shown below."""
        self._stop_status()
        if self._silent:
            return
        self._wrapper.finish()
        if self._shown.split() != final.split():
            if self._shown.strip():
                self._console.print("The answer was revised after its sources were checked:", style="yellow")
            self._console.print(final, soft_wrap=not self._console.is_terminal)

    def abandon(self) -> None:
        """Stop in the middle of the answer."""
        self._stop_status()
        if not self._silent and self._shown:
            self._wrapper.finish()

    def _write(self, text: str) -> None:
        self._console.print(text, end="", soft_wrap=True)

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def read_question(source: TextIO) -> str:
    """Return a question from a stream; an overlong one is cut above the server's limit, so that it is refused."""
    return source.read(_LONGEST).strip()


async def computation(session: Session, made: TableComputation) -> list[RenderableType]:
    """Return how an answer was computed, with its query run again; without a result where that fails."""
    result = None
    if made.query:
        request = QueryTablesRequest(document_ids=made.document_ids, query=made.query)
        try:
            result = (await session.call(session.stub.QueryTables, request)).result
        except CommandError:  # the answer is there: its document may be deleted since, or the process busy
            result = None
    return answer.computation(made, result)


def print_footnotes(
    console: Console,
    completed: AskCompleted,
    elapsed: float,
    computed: Sequence[RenderableType] = (),
    *,
    quiet: bool = False,
) -> None:
    """Print everything below an answer; `quiet` omits all except the footnotes."""
    width = console.width if console.is_terminal else 0
    blocks: list[Sequence[RenderableType]] = [
        drawing.footnotes(completed.answer.citations, width),
        drawing.nearest(completed.answer, width),
    ]
    if not quiet:
        blocks += [
            computed,
            list(drawing.unsupported_claims(completed.answer)),
            list(drawing.notices(completed.degradations)),
            drawing.summary(completed, elapsed),
        ]
    for block in blocks:
        if block:
            console.print()
        for line in block:
            console.print(line, soft_wrap=width == 0 and isinstance(line, Text))

"""Renders the part below an answer: footnotes, verdicts, failures, time and cost."""

from collections.abc import Iterator, Sequence

from footnote.edge.v1.answers_pb2 import AskCompleted
from footnote.types.v1 import answer_pb2
from footnote.types.v1.answer_pb2 import Answer, Citation, Degradation
from footnote_kit.degradations import word
from footnote_kit.printable import printable_line
from rich.text import Text

from footnote_cli.console import make_console
from footnote_cli.render import reasons
from footnote_cli.render.text import elapsed, one_line, plural, seconds

_PLAIN = make_console()

SUPPORT_WORDS = {
    answer_pb2.VERDICT_SUPPORTED: ("supported", "green"),
    answer_pb2.VERDICT_NOT_CONFIRMED: ("not confirmed", "yellow"),
    answer_pb2.VERDICT_UNSUPPORTED: ("unsupported", "red"),
    answer_pb2.VERDICT_UNCITED: ("uncited", "yellow"),
}


BASIS_WORDS = {
    answer_pb2.BASIS_QUOTED: "quoted",
    answer_pb2.BASIS_CELLS: "from the cell",
    answer_pb2.BASIS_COMPUTED: "computed from cells",
    answer_pb2.BASIS_READ: "a model has read it",
}
"""How a source was found to support a statement; each text is shown with "supported"."""


def stage_name(stage: int) -> str:
    """Return a stage's name in lower case, "retrieval", or "" for none."""
    name = (
        answer_pb2.PipelineStage.Name(answer_pb2.PipelineStage.ValueType(stage)).removeprefix("PIPELINE_STAGE_").lower()
    )
    return "" if name == "unspecified" else name


def footnotes(citations: Sequence[Citation], width: int) -> list[Text]:
    """Return one line per footnote, `[1] file, page — “quote” (supported)`, without duplicates, hanging-indented."""
    seen: set[tuple[int, str, str]] = set()
    lines: list[Text] = []
    for citation in citations:
        label = printable_line(citation.label or citation.filename)
        key = (citation.number, label, citation.quote)
        if key in seen:
            continue
        seen.add(key)
        word, style = SUPPORT_WORDS.get(citation.support, ("", ""))
        line = Text.assemble((f"[{citation.number}]", "bold cyan"), " ", (label, "bold"))
        if citation.quote:
            line.append(f" — “{one_line(citation.quote)}”")
        if word:
            reader = printable_line(citation.reader)
            basis = f"{reader} has read it" if reader else BASIS_WORDS.get(citation.basis, "")
            line.append(f" ({word}: {basis})" if basis else f" ({word})", style=style)
        lines.append(hang(line, len(f"[{citation.number}] "), width))
        if address := printable_line(citation.origin.address):
            lines.append(Text(f"    {address}", style="underline"))
    return lines


def nearest(answer: Answer, width: int) -> list[Text]:
    """Return the line of the passage offered with a refusal, `Nearest: file, page — “quote”`; [] without one."""
    if not answer.HasField("nearest"):
        return []
    near, lead = answer.nearest, "Nearest: "
    line = Text.assemble((lead, "bold"), (printable_line(near.label or near.filename), "bold"))
    return [hang(line.append(f" — “{one_line(near.quote)}”"), len(lead), width)]


def hang(line: Text, indent: int, width: int) -> Text:
    """Return the text wrapped at `width` columns, every line but the first indented; a width of 0 doesn't wrap."""
    if width == 0 or len(line) <= width:
        return line
    result = Text()
    for index, part in enumerate(line.wrap(_PLAIN, max(width - indent, 20))):
        part.rstrip()
        result.append_text(part if index == 0 else Text.assemble("\n" + " " * indent, part))
    return result


def unsupported_claims(answer: Answer) -> Iterator[Text]:
    """Yield one line for each statement that is wrong or cites nothing, one for all unread, one for each warning."""
    if unread := answer.reliability.claims_unread:
        what = f"! not confirmed: no model has read {plural(unread, 'statement')} against the sources"
        yield Text(what, style="yellow")
    for claim in answer.claims:
        if claim.support not in (answer_pb2.VERDICT_UNSUPPORTED, answer_pb2.VERDICT_UNCITED):
            continue
        word, style = SUPPORT_WORDS[claim.support]
        sentence = one_line(answer.text[claim.span.start : claim.span.end], 100)
        why = f": {reasons.claim(claim)}" if claim.reason else ""
        yield Text(printable_line(f"! {word}: “{sentence}”{why}"), style=style)
    for warning in answer.warnings:
        yield Text(printable_line(f"! {warning}"), style="yellow")


def notices(degradations: Sequence[Degradation]) -> Iterator[Text]:
    """Yield one line for each failure, with its effect on the answer."""
    for degradation in degradations:
        where = stage_name(degradation.stage)
        cause = ", ".join(part for part in (where, word(degradation), degradation.detail) if part)
        effect = degradation.effect or "Something did not work as configured."
        yield Text(printable_line(f"! {effect}" + (f" ({cause})" if cause else "")), style="yellow")


def summary(completed: AskCompleted, waited: float) -> list[Text]:
    """Return dim lines: total time and time to the first word, model, tokens; where to look further."""
    answer = completed.answer
    parts = [elapsed(waited)]
    first = seconds(completed.time_to_first_token)
    if first > 0:
        parts.append(f"first word after {elapsed(first)}")
    if answer.provider:
        parts.append(answer.provider + (f"/{answer.model}" if answer.model and answer.model != answer.provider else ""))
    if completed.sources:
        cited = len({citation.number for citation in answer.citations})
        parts.append(f"{cited} of {plural(len(completed.sources), 'source')} cited")
    tokens = answer.usage.prompt_tokens + answer.usage.completion_tokens
    if tokens:
        parts.append(plural(tokens, "token"))
    handles = {"answer": answer.id, "trace": completed.trace_id, "conversation": completed.conversation_id}
    further = " · ".join(f"{name} {value}" for name, value in handles.items() if value)
    return [Text(printable_line(line), style="dim") for line in (" · ".join(parts), further) if line]

"""Judges statements outside our answers against the sources that they cite, like sentences of an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.generation.v1.generation_service_pb2 import Statement
from footnote.types.v1.answer_pb2 import Citation, Claim, Source, Usage
from footnote_kit.errors import InvalidArgument

from footnote_generation.answering.markers import scan
from footnote_generation.answering.model_verifier import ModelVerifier, why_incomplete
from footnote_generation.answering.verifiers import ChosenVerifier
from footnote_generation.answering.writer import Writer
from footnote_generation.language import phrases
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, Sentence, segment

_MOST, _LONGEST, _LONGEST_ANSWER = 200, 8000, 100_000


@dataclass(frozen=True, slots=True)
class Verified:
    """Verdicts in the order of the statements; `failure` says why the opinion is missing or incomplete."""

    claims: list[Claim]
    citations: list[Citation]
    usage: Usage
    failure: str
    text: str = ""


def check(statements: Sequence[Statement], answer: str, sources: Sequence[Source]) -> None:
    """Raise InvalidArgument for input that cannot be judged."""
    if answer:
        if statements:
            raise InvalidArgument.field("answer", "must be empty where there are statements")
        if len(answer) > _LONGEST_ANSWER:
            raise InvalidArgument.field("answer", f"must have at most {_LONGEST_ANSWER} characters")
        return
    if not 1 <= len(statements) <= _MOST:
        raise InvalidArgument.field("statements", f"must be 1 to {_MOST}")
    known = {source.number for source in sources}
    for at, one in enumerate(statements):
        if not one.text.strip() or len(one.text) > _LONGEST:
            raise InvalidArgument.field(f"statements[{at}].text", f"must have 1 to {_LONGEST} characters")
        if not known.issuperset(one.sources):
            raise InvalidArgument.field(f"statements[{at}].sources", "must be numbers of the sources given")


async def verify(
    statements: Sequence[Statement],
    answer: str,
    sources: Sequence[Source],
    locale: str,
    chosen: ChosenVerifier,
    remaining: float | None,
) -> Verified:
    """Return the verdicts on statements or an answer's sentences; asks the chosen verifier within the seconds left."""
    not_found = phrases.not_found_sentences()
    checker = Checker(
        {one.number: one for one in sources},
        locale,
        not_found,
        chosen.verifier,
        chosen.why_not,
        verifier_name=chosen.name,
    )
    text, sentences = (
        await asyncio.to_thread(_cut, answer, sources) if answer else ("", list(map(_sentence, statements)))
    )
    await asyncio.to_thread(checker.check_by_rules, sentences)
    checked = await checker.check(sentences, remaining)
    usage = chosen.verifier.usage if isinstance(chosen.verifier, ModelVerifier) else Usage()
    citations = [citation for item in checked for citation in item.citations]
    return Verified(
        [item.claim for item in checked], citations, usage, checker.failure or why_incomplete(chosen.verifier), text
    )


def _cut(answer: str, sources: Sequence[Source]) -> tuple[str, list[Sentence]]:
    """Return an answer as displayed, and its statements."""
    writer = Writer(sources)
    for piece in scan(answer, [source.filename for source in sources]):
        writer.add(piece)
    writer.finish()
    writer.sweep(0, len(writer.text))
    return writer.text, segment(writer.text, writer.markers)


def _sentence(statement: Statement) -> Sentence:
    text = statement.text.strip()
    end = len(statement.text)
    markers = tuple(PlacedMarker(0, end, number) for number in dict.fromkeys(statement.sources))
    return Sentence(0, end, " ".join(text.split()), markers)

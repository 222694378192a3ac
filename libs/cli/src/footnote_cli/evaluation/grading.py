"""Grades one answer to a golden question, and summarises many grades."""

from __future__ import annotations

import math
import re
import statistics
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_NO_RELEVANT_CONTENT,
    FINISH_REASON_REFUSED,
    VERDICT_SUPPORTED,
    Answer,
    Citation,
)
from footnote_text import a1, locators

from footnote_cli.evaluation.golden import Question, matches, plain

_MARKER = re.compile(r" ?\[\d{1,3}\]")
_REFUSED = (FINISH_REASON_NO_RELEVANT_CONTENT, FINISH_REASON_REFUSED)


class Outcome(Enum):
    """The grade of an answer. RIGHT and REFUSED_RIGHTLY are good; an answer to an unanswerable question is WRONG."""

    RIGHT = "right"
    PART = "part"
    WRONG = "wrong"
    REFUSED_RIGHTLY = "refused rightly"
    REFUSED_WRONGLY = "refused wrongly"
    FAILED = "failed"


GOOD = (Outcome.RIGHT, Outcome.REFUSED_RIGHTLY)
CHANCE = 0.05
"""The probability below which a difference of two runs is not taken for chance."""
_ORDER = {Outcome.WRONG: 0, Outcome.FAILED: 0, Outcome.REFUSED_WRONGLY: 1, Outcome.PART: 2}


@dataclass(frozen=True, slots=True)
class Graded:
    """The grade of one answer, with details.

    `supported` is whether it has a verdict SUPPORTED. `file` and `place` are whether its footnotes name the expected
    ones, None without expectations or for a refusal. `offered` is whether the passage offered with a wrong refusal
    would have been right, None for everything else. Times are milliseconds.
    """

    outcome: Outcome
    text: str = ""
    supported: bool = False
    file: bool | None = None
    place: bool | None = None
    offered: bool | None = None
    missing: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    degradations: tuple[str, ...] = ()
    milliseconds: float = 0.0
    first_word: float | None = None
    tokens: int = 0
    cost_usd: float | None = None
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the grade as JSON-ready values."""
        return {**asdict(self), "outcome": self.outcome.value}


def grade(question: Question, answer: Answer) -> Graded:
    """Grade a finished answer; the caller adds times and costs.

    An answer that declines is refused, whatever else it offers. Otherwise it is WRONG with one text of `must_not`,
    none of `must`, or, of what is absent, none of `accept`; PART with some of `must`, RIGHT with all.
    """
    common: dict[str, Any] = {
        "text": answer.text,
        "supported": any(claim.support == VERDICT_SUPPORTED for claim in answer.claims),
        "labels": tuple(dict.fromkeys(citation.label for citation in answer.citations)),
    }
    if answer.finish_reason in _REFUSED:
        if question.expect == "absent":
            return Graded(Outcome.REFUSED_RIGHTLY, **common)
        return Graded(Outcome.REFUSED_WRONGLY, offered=_offers(question, answer), **common)
    text = _MARKER.sub("", answer.text)
    unwanted = [one for one in question.must_not if matches(one, text)]
    if question.expect == "absent":
        accepted = not unwanted and any(matches(one, text) for one in question.accept)
        return Graded(Outcome.RIGHT if accepted else Outcome.WRONG, **common)
    wanted = [(one,) if isinstance(one, str) else one for one in question.must]
    missing = tuple(" | ".join(one) for one in wanted if not any(matches(text_, text) for text_ in one))
    if unwanted or (wanted and len(missing) == len(wanted)):
        outcome = Outcome.WRONG
    else:
        outcome = Outcome.PART if missing else Outcome.RIGHT
    common["missing"] = (*missing, *(f"not: {one}" for one in unwanted))
    if question.footnotes:
        enough = all if question.footnotes_need == "all" else any
        cited = answer.citations
        common["file"] = enough(
            any(_is_of(c, one.file) for c in cited for one in expected.alternatives) for expected in question.footnotes
        )
        if placed := [one for one in question.footnotes if one.place]:
            common["place"] = enough(
                any(_is_of(c, one.file) and is_at(c, one.place) for c in cited for one in expected.alternatives)
                for expected in placed
            )
        if not wanted and not common["file"]:
            outcome = Outcome.WRONG
    return Graded(outcome, **common)


def _offers(question: Question, answer: Answer) -> bool:
    """Return whether the passage offered with a refusal is of an expected file and holds all that is in `must`."""
    near, text = answer.nearest, answer.nearest.quote
    if not text or any(matches(one, text) for one in question.must_not):
        return False
    wanted = [(one,) if isinstance(one, str) else one for one in question.must]
    files = [_is_of(near, one.file) for expected in question.footnotes for one in expected.alternatives]
    return all(any(matches(one, text) for one in any_of) for any_of in wanted) and (any(files) or not files)


_PLACE = re.compile(r"(page|line|slide) (\d{1,9})")


def _is_of(citation: Citation, file: str) -> bool:
    """Return whether a footnote is from a file; some systems decompose names, which the server composes."""
    return citation.filename in (file, unicodedata.normalize("NFC", file))


def is_at(citation: Citation, place: str) -> bool:
    """Return whether a footnote is at a place: "page 3", "line 9", "slide 2", "Stocks!C12", a cell, or a heading.

    A line of delimited text is a row there. All pages and lines in a footnote's range count.
    """
    locator = citation.locator
    if numbered := _PLACE.fullmatch(place):
        number = int(numbered[2])
        if locator.HasField("sheet"):
            bounds = a1.corners(locator.sheet.range) if numbered[1] == "line" and not locator.sheet.sheet else None
            return bounds is not None and bounds[0] < number <= bounds[2] + 1
        first, last = {
            "page": (locator.page.page, locator.page.last_page),
            "line": (locator.lines.first_line, locator.lines.last_line),
            "slide": (locator.slide.slide, locator.slide.slide),
        }[numbered[1]]
        return first <= number <= max(first, last)
    sheet, parted, cell = place.rpartition("!")
    if locator.HasField("sheet") and parted:
        return plain(sheet) == plain(locator.sheet.sheet) and cell in locator.sheet.range.split(":")
    said = plain(locators.label(citation.filename, locator, "en")).removeprefix(plain(citation.filename))
    return matches(place, said) or any(plain(place) == plain(heading) for heading in locator.heading_path)


def figures(grades: Iterable[Graded], absent: int | None = None) -> dict[str, Any]:
    """Return counts and shares of grades; a share is None if no grade counts for it.

    `absent` is how many of the questions have no answer in the documents; None counts only those refused rightly.
    """
    found = list(grades)
    counts = {outcome.value: sum(one.outcome is outcome for one in found) for outcome in Outcome}
    answered = [one for one in found if one.outcome in {Outcome.RIGHT, Outcome.PART, Outcome.WRONG}]
    green = sum(one.outcome is Outcome.WRONG and one.supported for one in found)
    return {
        "questions": len(found),
        "good": _share(sum(one.outcome in GOOD for one in found), len(found)),
        "wrong_share": _share(counts["wrong"], len(found)),
        **counts,
        "wrong though supported": green,
        "offered": sum(bool(one.offered) for one in found),
        "absent refused": _share(counts["refused rightly"], absent or 0),
        "footnote file": _share_of(one.file for one in answered),
        "footnote place": _share_of(one.place for one in answered),
        "ms": _percentiles([one.milliseconds for one in found if one.outcome is not Outcome.FAILED]),
        "first word ms": _percentiles([one.first_word for one in found if one.first_word is not None]),
        "tokens": sum(one.tokens for one in found),
        "cost_usd": _cost(found),
    }


def _cost(found: Sequence[Graded]) -> float | None:
    known = [one.cost_usd for one in found if one.cost_usd is not None]
    return round(sum(known), 6) if known else None


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def _share_of(values: Iterable[bool | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _share(sum(known), len(known))


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    if not values:
        return {"p50": None, "p95": None}
    if len(values) == 1:
        return {"p50": round(values[0], 1), "p95": round(values[0], 1)}
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {"p50": round(cuts[9], 1), "p95": round(cuts[18], 1)}


def by_tag(questions: Sequence[Question], grades: Mapping[str, Graded]) -> dict[str, dict[str, Any]]:
    """Return the figures of all questions, of each language and of each tag."""
    groups: dict[str, list[Question]] = {"all": list(questions)}
    for name, of in _GROUPS:
        for question in questions:
            for value in of(question):
                groups.setdefault(f"{name}{value}", []).append(question)
    return {
        name: figures([grades[q.id] for q in group], sum(q.expect == "absent" for q in group))
        for name, group in groups.items()
    }


_GROUPS: tuple[tuple[str, Callable[[Question], tuple[str, ...]]], ...] = (
    ("expect ", lambda question: (question.expect,)),
    ("language ", lambda question: (question.language,) if question.language else ()),
    ("", lambda question: question.tags),
)


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of two runs over their common questions; `p` is from a two-sided sign test."""

    shared: int
    better: tuple[str, ...]
    worse: tuple[str, ...]
    p: float

    @property
    def is_worse(self) -> bool:
        """Return whether more questions got worse than better, than chance explains."""
        return len(self.worse) > len(self.better) and self.p < CHANCE


def compare(before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> Change:
    """Compare two runs question by question: wrong is worse than refused, which is worse than part, then right."""
    shared = [id for id in after if id in before]
    moved = {id: _ORDER.get(after[id], 3) - _ORDER.get(before[id], 3) for id in shared}
    better = tuple(id for id, change in moved.items() if change > 0)
    worse = tuple(id for id, change in moved.items() if change < 0)
    return Change(len(shared), better, worse, sign_test(len(better), len(worse)))


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided probability that chance alone splits `better` and `worse` at least this unevenly."""
    total = better + worse
    tail = sum(math.comb(total, k) for k in range(min(better, worse) + 1))
    # Integer division: 2**total may exceed the range of a float.
    return min(1.0, float(Fraction(2 * tail, 2**total)))

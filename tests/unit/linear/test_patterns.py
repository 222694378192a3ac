"""No pattern of ours freezes a service: each is timed on nasty inputs and on the same twice as long.

`FOOTNOTE_LINEAR_OUT=FILE pytest tests/unit/linear` writes a line of JSON for each; `pytest -s` prints the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from footnote_generation.extractive import table_reading
from footnote_generation.language import places
from footnote_generation.language.cldr import writing
from hypothesis import given, settings
from hypothesis import strategies as st
from support.linear import report
from support.linear.derived import derived
from support.linear.nasties import ALPHABET, NASTIES, Nasty
from support.linear.patterns import Found, evaluated, in_memory, in_source, modules
from support.linear.timing import FLOOR, Growth, growth, once, rising

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

SIZE = 8192
PER_KILOBYTE = 8.0
"""Milliseconds that a pattern may take for a thousand characters, however it grows."""
_PROMISING, _ENOUGH = 48, 3
_LONG = 0.02
_GENERATION = "footnote_generation."
_WRITINGS = [{"how": writing(language)} for language in ("en", "fr", "es", "it", "de")]
# Patterns made from words of a question or a source: what they are made with here.
_EXAMPLES: dict[str, Sequence[dict[str, object]]] = {
    f"{_GENERATION}language.phrases._finder_sentences": [{"sentence": "I show {count} passages"}],
    f"{_GENERATION}language.quantities._counted": _WRITINGS,
    f"{_GENERATION}language.quantities.past_links": _WRITINGS,
    f"{_GENERATION}extractive.question_parts._named": [{"thing": "3S"}],
    f"{_GENERATION}extractive.question_parts._without": [{"other": "Linde 3S"}],
    "footnote_cli.evaluation.golden.matches": [{"wanted": "/the caller's own/"}],
    # A phrase at the beginning, one with words between, one of parts of words, one at the end, one without spaces.
    "footnote_text.intents._compiled": [
        {"phrase": phrase} for phrase in ("^how do i", "difference ... between", "*liste*", "in all$", "一共 ... 多少")
    ],
}
# Functions that hold patterns made when they are called first.
_MAKERS: dict[str, Callable[[], object]] = {
    f"{_GENERATION}extractive.table_reading._between": lambda: [table_reading._between(code) for code in ("zh", "ja")],
    f"{_GENERATION}language.places._link": lambda: [places._link()],
    f"{_GENERATION}language.places._parts": lambda: [places._parts(()), places._parts(("a", "1.1", "report 2023.pdf"))],
}


def _found() -> dict[tuple[str | bytes, int], Found]:
    found: dict[tuple[str | bytes, int], Found] = {}

    def keep(one: Found) -> None:
        found.setdefault((one.pattern.pattern, one.pattern.flags), one)

    for module in modules():
        for one in in_memory(module):
            keep(one)
        for call in in_source(module):
            place = f"{module.__name__}.{call.function}"
            if place in _MAKERS:
                continue
            for names in _EXAMPLES.get(place, [{}]):
                try:
                    keep(evaluated(call, names))
                except NameError as error:
                    # Made at module level in a loop: in memory then. In a function: an example is missing above.
                    _UNKNOWN.update({f"{place}: {error}": call} if call.function not in ("", "_pattern") else {})
    for place, make in _MAKERS.items():
        for number, pattern in enumerate(_patterns_in(make())):
            keep(Found(f"{place}[{number}]", pattern))
    return found


def _patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _patterns_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _patterns_in(one)


_UNKNOWN: dict[str, object] = {}
FOUND = _found()
PARAMETERS = [pytest.param(one, id=one.place) for one in FOUND.values()]


def _operations(pattern: Any) -> dict[str, Callable[[str], object]]:
    empty: Any = "" if isinstance(pattern.pattern, str) else b""

    def encoded(call: Callable[[Any], object]) -> Callable[[str], object]:
        return call if empty == "" else lambda text: call(text.encode("utf-8", "replace"))

    return {
        "search": encoded(pattern.search),
        "finditer": encoded(lambda text: sum(1 for _ in pattern.finditer(text))),
        "match": encoded(pattern.match),
        "fullmatch": encoded(pattern.fullmatch),
        "sub": encoded(lambda text: pattern.sub(empty, text)),
        "split": encoded(pattern.split),
    }


def worst(pattern: Any, place: str, inputs: Sequence[Nasty]) -> Growth:
    """Return the first growth that fails; else the worst of all operations and inputs, by growth, then by time.

    Small inputs are tried first, then the slowest of them at a quarter of the size; the worst are measured with care.
    """
    operations = _operations(pattern)
    screened = [
        (once(operations[operation], nasty(SIZE // 32), _LONG), operation, nasty)
        for nasty in inputs
        for operation in ("finditer", "fullmatch")
    ]
    screened.sort(key=lambda entry: -entry[0])
    stopped, promising, screened = 0, screened[:_PROMISING], []
    for seconds, operation, nasty in promising:
        if seconds <= _LONG:  # else a larger one could take for ever
            seconds = once(operations[operation], nasty(SIZE // 4), _LONG)
        screened.append((seconds, operation, nasty))
        stopped += seconds > _LONG / 2
        if stopped >= _ENOUGH:
            break  # slow enough to be found out
    screened.sort(key=lambda entry: -entry[0])
    slow = [(operation, nasty) for _, operation, nasty in screened[:_ENOUGH]]
    slow += [(operation, screened[0][2]) for operation in ("search", "match", "sub", "split")]
    grown: list[Growth] = []
    for operation, nasty in slow:
        grown.append(growth(place, operation, operations[operation], nasty.name, nasty, SIZE))
        if grown[-1].fails(PER_KILOBYTE):
            return grown[-1]  # the others would each take seconds to say the same
    return max(grown, key=lambda one: (one.ratio if one.seconds > FLOOR else 0, one.seconds))


def test_the_search_for_patterns_finds_all_of_them() -> None:
    assert not _UNKNOWN, "say in _EXAMPLES with what these are made"
    assert len(FOUND) > 200
    places = {found.place for found in FOUND.values()}
    assert "footnote_text.lexical._TOKEN" in places
    assert any(place.startswith("footnote_augmentation.suspicion.") for place in places)


@pytest.mark.parametrize("found", PARAMETERS)
def test_a_pattern_takes_twice_as_long_for_twice_the_text(found: Found) -> None:
    grown = worst(found.pattern, found.place, [*derived(found.pattern), *NASTIES])
    report.add("pattern", grown, found.text)
    assert not grown.fails(PER_KILOBYTE), report.line(grown)


@pytest.mark.parametrize("found", PARAMETERS)
def test_a_pattern_is_linear_on_made_up_repeats(found: Found) -> None:
    own = "".join(char for char in dict.fromkeys(found.text) if char.isprintable())
    operations = _operations(found.pattern)

    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(
        pump=st.text(ALPHABET + own * 2, min_size=1, max_size=6),
        head=st.text(own, max_size=3),
        tail=st.text(own, max_size=2),
    )
    def holds(pump: str, head: str, tail: str) -> None:
        nasty = Nasty(pump, head, tail)
        for operation in ("search", "finditer"):
            if rising(operations[operation], nasty, (SIZE // 64, SIZE // 16, SIZE // 4, SIZE), 0.1) > FLOOR:
                grown = growth(found.place, operation, operations[operation], nasty.name, nasty, SIZE)
                assert not grown.fails(PER_KILOBYTE), report.line(grown)

    holds()


# What this project had before, and what such patterns look like.
_SLOW = {
    "square": r"\s+$", "cube": r"a*a*a*b", "exponential": r"(?:a+)+$", "far": r"<[^>]*>", "ahead": r"(?=a+b)a",
    "lexical._TOKEN": r"(?P<number>\d+(?:[.,]\d+)+(?![\w.,]*[^\W\d]))",
    "query._FORM": r"(?:(?<=[.?!;])\s+|^)(?:please\s+)?(?:answer|give)\b[^.?!]*\b(?:answers|units?)\b[^.?!]*(?:[.]|$)",
    "sentences._BOUNDARY": r"[.!?…]+(?:\s?[\"')])*(?=\s|$)",
    "plan._SMALL_TALK": r"^(?:(?:hi|hello|bonjour|merci|danke|good|great|yes|no|thanks|ok|bye(?: bye)?)(?: |$))+$",
    "pdf_headings._FIGURES": r"(?:\s+[$€£(]*[\d.,]*\d[\d.,]*[)%]*|\s+[$€£]?\s*[—–-]){2,}\s*$",
}  # fmt: skip
_QUICK = (r"\w+", r"<[^<>]{0,40}>", r"(?<!a)a++$", r"(?<![^.?!])[^.?!]++[.?!]")


@pytest.mark.parametrize("name", _SLOW)
def test_the_measure_finds_what_is_slow(name: str) -> None:
    pattern = re.compile(_SLOW[name])
    assert worst(pattern, name, [*derived(pattern), *NASTIES]).fails(PER_KILOBYTE)


@pytest.mark.parametrize("source", _QUICK)
def test_the_measure_lets_pass_what_is_quick(source: str) -> None:
    pattern = re.compile(source)
    grown = worst(pattern, source, [*derived(pattern), *NASTIES])
    assert not grown.fails(PER_KILOBYTE), report.line(grown)

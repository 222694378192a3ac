"""QUOTED: a statement that is in the source whole and in order, except for a lead-in of a closed list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from footnote_generation.verification.normalised import Token
from footnote_generation.verification.parts import Part

_FEWEST = 2  # tokens of a statement; a single word occurs everywhere


@dataclass(frozen=True, slots=True)
class Index:
    """The parts of a source by their first token, in lower case; those under a heading also by its first token."""

    parts: tuple[Part, ...]
    first: Mapping[str, tuple[int, ...]]
    headed: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> Index:
        """Return the index of parts."""
        first: dict[str, list[int]] = defaultdict(list)
        headed: dict[str, list[int]] = defaultdict(list)
        for number, part in enumerate(parts):
            first[part.tokens[0].text.casefold()].append(number)
            if part.heading:
                headed[part.heading[0].text.casefold()].append(number)
        return cls(parts, *({key: tuple(value) for key, value in one.items()} for one in (first, headed)))


def find(
    statement: Sequence[Token], question: bool, index: Index, mark: str = "", *, spoken: bool = False
) -> tuple[int, int] | None:
    """Return where a statement is as consecutive whole parts of a source, None if nowhere.

    `mark` is that of its list item. Only a `spoken` one may begin inside a longer quotation of the source.
    """
    if len(statement) < _FEWEST or sum(len(token.text) for token in statement) < 4:
        return None
    head = statement[0].text.casefold()
    for number in index.first.get(head, ()):
        part = index.parts[number]
        if part.ranked and part.mark != mark and (mark or part.mark == "-"):
            continue
        if part.spoken and not spoken:
            continue
        if (found := _chain(statement, 0, number, question, index.parts)) is not None:
            return index.parts[number].start, found
    for number in index.headed.get(head, ()):
        part = index.parts[number]
        size = len(part.heading)
        # The heading is the subject that the statement repeats: "Warranty: 24 months".
        if (
            size < len(statement)
            and (spoken or not part.spoken)
            and all(
                one.text.casefold() == other.text.casefold()
                for one, other in zip(part.heading, statement, strict=False)
            )
            and (found := _chain(statement, size, number, question, index.parts)) is not None
        ):
            return part.start, found
    return None


def altered(statement: Sequence[Token], index: Index) -> tuple[int, int, str, str] | None:
    """Return the part that a statement repeats except for its numbers: its place, a stated number, and the source's.

    Either the numbers are the same in another order, or one differs; with more changes it may be about something else.
    """
    frame = _frame(statement)
    if len(frame) < _FEWEST_ALIKE or frame.count("#") == 0:
        return None
    there = [part for part in index.parts if _frame(part.tokens) == frame]
    if len(there) != 1:
        return None
    stated, given = _numbers(statement), _numbers(there[0].tokens)
    other = [(one, held) for one, held in zip(stated, given, strict=True) if one != held]
    if not other or (len(other) > 1 and sorted(stated) != sorted(given)):
        return None
    return there[0].start, there[0].end, *other[0]


_FEWEST_ALIKE = 5


def _frame(found: Sequence[Token]) -> tuple[str, ...]:
    return tuple("#" if token.text[0].isdigit() else token.text.casefold() for token in found)


def _numbers(found: Sequence[Token]) -> list[str]:
    return [token.text for token in found if token.text[0].isdigit()]


def _chain(statement: Sequence[Token], at: int, number: int, question: bool, parts: Sequence[Part]) -> int | None:
    """Return where the consecutive parts end that equal a statement from a token on, None if there are none."""
    begin = at
    while number >= 0:
        part = parts[number]
        size = len(part.tokens)
        if at + size > len(statement) or not all(
            _same(statement[at + place].text, token.text, place in part.starts or at + place == begin)
            for place, token in enumerate(part.tokens)
        ):
            return None
        at += size
        if at == len(statement):
            return part.end if part.question == question else None
        number = part.next
    return None


def _same(stated: str, given: str, begins: bool) -> bool:
    if stated == given:
        return True
    return begins and stated[:1].casefold() == given[:1].casefold() and stated[1:] == given[1:]

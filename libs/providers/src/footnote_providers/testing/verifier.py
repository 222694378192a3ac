"""The suite for verifiers of statements: any object with generation's `ask`, which returns opinions."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from footnote_providers.testing.asking import LONG, ODD, TEXTS, answered_or_typed, broken_off, side_by_side

_STATEMENT = "Employees receive 25 days of paid leave per year."


class Opinion(Protocol):
    """A model's opinion of a statement given a passage, each value from 0 to 1."""

    @property
    def supports(self) -> float:
        """How far the passage supports the statement."""
        ...

    @property
    def contradicts(self) -> float:
        """How far the passage contradicts the statement."""
        ...


class Verifier(Protocol):
    """A model that judges statements."""

    @property
    def most_passages(self) -> int:
        """The most passages to send with a statement; 0 for a whole source."""
        ...

    @property
    def timeout(self) -> float:
        """Time limit of a call in seconds."""
        ...

    async def ask(self, asked: Sequence[tuple[str, Sequence[str]]]) -> Sequence[Sequence[Opinion]]:
        """Return for each statement one opinion per passage, in order; raises FootnoteError."""
        ...


def _fits(opinions: Sequence[Opinion], count: int) -> None:
    assert len(opinions) == count, f"{count} passages gave {len(opinions)} opinions"
    for one in opinions:
        assert 0 <= one.supports <= 1 and 0 <= one.contradicts <= 1, f"an opinion is {one}"


async def has_an_opinion_per_passage_in_order(verifier: Verifier) -> None:
    """Check that values are from 0 to 1, and that an identical passage supports no less than another one."""
    assert verifier.most_passages >= 0 and verifier.timeout > 0
    for passages in ((_STATEMENT, TEXTS[1]), (TEXTS[1], _STATEMENT)):
        (opinions,) = await verifier.ask([(_STATEMENT, passages)])
        _fits(opinions, 2)
        same, other = (opinions[passages.index(text)].supports for text in (_STATEMENT, TEXTS[1]))
        assert same >= other, f"the same words support with {same}, others with {other}"


async def takes_as_many_passages_as_it_says(verifier: Verifier) -> None:
    """Check one passage, and the maximum."""
    for count in (1, verifier.most_passages or 1):
        (opinions,) = await verifier.ask([(_STATEMENT, [f"{TEXTS[1]} {at}" for at in range(count)])])
        _fits(opinions, count)


async def takes_many_statements_in_one_call(verifier: Verifier) -> None:
    """Check that statements in one call get the same opinions as alone, in order; an empty call gets none."""
    assert len(await verifier.ask([])) == 0
    asked = [(_STATEMENT, (TEXTS[1],)), (_STATEMENT, (_STATEMENT, TEXTS[1])), (TEXTS[2], (_STATEMENT,))]
    together = await verifier.ask(asked)
    assert len(together) == len(asked), f"{len(asked)} statements gave {len(together)} answers"
    for (statement, passages), opinions in zip(asked, together, strict=True):
        _fits(opinions, len(passages))
        (alone,) = await verifier.ask([(statement, passages)])
        for one, other in zip(opinions, alone, strict=True):
            assert abs(one.supports - other.supports) < 1e-2, "together it thinks otherwise than alone"


async def takes_odd_and_long_texts(verifier: Verifier) -> None:
    """Check texts without a word and very long ones: they are judged, or refused with a typed error."""
    for text in (*ODD, LONG):
        for statement, passage in ((_STATEMENT, text), (text[:2000], _STATEMENT)):
            opinions = await answered_or_typed(_asked(verifier, statement, passage))
            if opinions is not None:
                _fits(opinions, 1)


async def runs_side_by_side(verifier: Verifier) -> None:
    """Check that concurrent calls return the usual opinions."""
    (alone,) = await _asked(verifier, _STATEMENT, TEXTS[0])
    for (one,) in await side_by_side(lambda: _asked(verifier, _STATEMENT, TEXTS[0])):
        assert abs(one.supports - alone.supports) < 1e-2


async def can_be_cancelled(verifier: Verifier) -> None:
    """Check that a cancelled call ends, and that the next one succeeds."""
    await broken_off(lambda: _asked(verifier, _STATEMENT, LONG[:5000]))
    _fits(await _asked(verifier, _STATEMENT, TEXTS[0]), 1)


async def _asked(verifier: Verifier, statement: str, passage: str) -> Sequence[Opinion]:
    (opinions,) = await verifier.ask([(statement, [passage])])
    return opinions


VERIFIER: tuple[Callable[[Verifier], Awaitable[None]], ...] = (
    has_an_opinion_per_passage_in_order,
    takes_as_many_passages_as_it_says,
    takes_many_statements_in_one_call,
    takes_odd_and_long_texts,
    runs_side_by_side,
    can_be_cancelled,
)

"""What a suite is made of: checks, each with the sentences of the contract that it tests, and what came of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from footnote_conformance.refusals import Refusal
from footnote_conformance.target import Target

MOST_SECONDS = 120.0
"""Of one check."""


class Outcome(Enum):
    """What came of a check."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class Failed(Exception):
    """The implementation did something else than the contract says; the message is what came back."""


class Skipped(Exception):
    """The check cannot be made with what the suite was given; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of a contract. `rules` are its sentences; `run` raises Failed, Skipped or Refusal."""

    name: str
    rules: tuple[str, ...]
    """Word for word as a comment of the stage's contract, or of types that it shares, has them (`rules.place_of`)."""
    run: Callable[[Target], Awaitable[None]]

    @property
    def says(self) -> str:
        """The rules as one text."""
        return " ".join(self.rules)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one check; `found` is what came back where it is not ok. Seconds."""

    check: Check
    outcome: Outcome
    found: str
    seconds: float


class Suite:
    """The checks of one stage in the order of their writing. `needs` are the other stages that it has to call."""

    def __init__(self, stage: str, probe: str, needs: tuple[str, ...] = ()) -> None:
        self.stage = stage
        self.probe = probe
        """A method without side effects that answers a request with nothing but a scope."""
        self.needs = needs
        self.checks: list[Check] = []

    def check(
        self, *rules: str
    ) -> Callable[[Callable[[Target], Awaitable[None]]], Callable[[Target], Awaitable[None]]]:
        """Decorate a check of these sentences of the contract; its name is the function's, with hyphens."""

        def add(run: Callable[[Target], Awaitable[None]]) -> Callable[[Target], Awaitable[None]]:
            self.checks.append(Check(run.__name__.replace("_", "-"), rules, run))
            return run

        return add

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)


def expect(condition: object, found: str) -> None:
    """Raise Failed with what came back unless the condition holds."""
    if not condition:
        raise Failed(found)


async def tried(check: Check, target: Target) -> Result:
    """Make one check; whatever goes wrong in it is its result."""
    begun = time.perf_counter()
    outcome, found = Outcome.OK, ""
    try:
        async with asyncio.timeout(MOST_SECONDS):
            await check.run(target)
    except Skipped as skipped:
        outcome, found = Outcome.SKIPPED, str(skipped)
    except Failed as failed:
        outcome, found = Outcome.FAILED, str(failed)
    except Refusal as refusal:
        outcome, found = Outcome.FAILED, f"a call that the contract allows ended with {refusal}"
    except TimeoutError:
        outcome, found = Outcome.FAILED, f"nothing came back in {MOST_SECONDS:.0f} s"
    except Exception as error:  # an answer so strange that the check did not foresee it is a failure of the answer
        outcome, found = Outcome.FAILED, f"the answer could not be read: {type(error).__name__}: {error}"
    return Result(check, outcome, found, time.perf_counter() - begun)


async def run(
    checks: Iterable[Check], target: Target, on_result: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Run the checks one after another, each in its own tenant; `told` is called with each result."""
    results = []
    for check in checks:
        result = await tried(check, target.anew())
        on_result(result)
        results.append(result)
    return results


def summary(results: Iterable[Result]) -> Mapping[Outcome, int]:
    """Return how many checks had which outcome."""
    counts = dict.fromkeys(Outcome, 0)
    for result in results:
        counts[result.outcome] += 1
    return counts

"""Suites of checks: each check quotes the sentences of the contract that it tests, and has a result."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import Enum

import grpc
from footnote_kit import tls
from footnote_kit.credential import ServiceCredential
from footnote_kit.settings import KitSettings

from footnote_conformance.target import Refusal, Stage, Target

MOST_SECONDS = 120.0
"""Seconds per check."""


class Outcome(Enum):
    """The outcome of a check."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class Failed(Exception):
    """The implementation violates the contract; the message is its response."""


class Skipped(Exception):
    """The suite's inputs do not suffice for the check; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of a contract. `rules` are its sentences; `run` raises Failed, Skipped or Refusal."""

    name: str
    rules: tuple[str, ...]
    """Quoted word for word from the comments of the stage's contract or its shared types (`rules.place_of`)."""
    run: Callable[[Target], Awaitable[None]]

    @property
    def says(self) -> str:
        """The rules as one text."""
        return " ".join(self.rules)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check: duration in seconds, and in `found` the response unless it is ok."""

    check: Check
    outcome: Outcome
    found: str
    seconds: float


class Suite:
    """The checks of one stage in order of definition. `needs` are the other stages that it calls."""

    def __init__(self, stage: str, probe: str, needs: tuple[str, ...] = ()) -> None:
        self.stage = stage
        self.probe = probe
        """A method without side effects that accepts a request with only a scope."""
        self.needs = needs
        self.checks: list[Check] = []

    def check(
        self, *rules: str
    ) -> Callable[[Callable[[Target], Awaitable[None]]], Callable[[Target], Awaitable[None]]]:
        """Register a check of these sentences of the contract; its name is the function's, with hyphens."""

        def add(run: Callable[[Target], Awaitable[None]]) -> Callable[[Target], Awaitable[None]]:
            self.checks.append(Check(run.__name__.replace("_", "-"), rules, run))
            return run

        return add

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)


def expect(condition: object, found: str) -> None:
    """Raise Failed with the response unless the condition holds."""
    if not condition:
        raise Failed(found)


async def tried(check: Check, target: Target) -> Result:
    """Run one check; any exception in it becomes its result."""
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
    except Exception as error:  # a response that the check did not foresee counts as a failure
        outcome, found = Outcome.FAILED, f"the answer could not be read: {type(error).__name__}: {error}"
    return Result(check, outcome, found, time.perf_counter() - begun)


async def run(
    checks: Iterable[Check], target: Target, on_result: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Run the checks one after another, each in its own tenant; `on_result` is called with each result."""
    results = []
    for check in checks:
        result = await tried(check, target.in_new_tenant())
        on_result(result)
        results.append(result)
    return results


def summary(results: Iterable[Result]) -> Mapping[Outcome, int]:
    """Return the number of checks by outcome."""
    counts = dict.fromkeys(Outcome, 0)
    for result in results:
        counts[result.outcome] += 1
    return counts


_MAX_MESSAGE = 64 * 1024 * 1024


@asynccontextmanager
async def open_target(
    suite: Suite,
    address: str,
    others: Mapping[str, str],
    credential: ServiceCredential | None,
    settings: KitSettings | None = None,
) -> AsyncIterator[Target]:
    """Yield the stage at `address` (host:port) as a suite's target; `others` are addresses of the stages it needs.

    TLS follows the settings (FOOTNOTE_TLS_…), as for every service; without a `credential` the certificate alone
    authenticates.
    """
    settings = settings or KitSettings()
    async with AsyncExitStack() as stack:
        stages = [
            Stage(name, await stack.enter_async_context(_channel(where, settings)), credential)
            for name, where in {suite.stage: address, **{name: others[name] for name in suite.needs}}.items()
        ]
        yield Target.of(stages[0], stages[1:], suite.probe)


def _channel(address: str, settings: KitSettings) -> grpc.aio.Channel:
    options = [
        ("grpc.max_send_message_length", _MAX_MESSAGE),
        ("grpc.max_receive_message_length", _MAX_MESSAGE),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
    ]
    credentials = tls.channel_credentials(settings)
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=options)
    return grpc.aio.secure_channel(address, credentials, options=options)

"""Periodic tasks: they continue after a failure, log it once, and stop on request."""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import structlog
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit import periodic as module
from footnote_kit.context import bind_service, current_scope, current_service, request_id
from footnote_kit.errors import Unavailable
from footnote_kit.periodic import PeriodicTasks
from structlog.testing import capture_logs

SOON = 0.001


@pytest.fixture(autouse=True)
def _information_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the process is configured only warnings are shown."""
    everything = structlog.make_filtering_bound_logger(0)
    monkeypatch.setattr(module, "_log", structlog.wrap_logger(structlog.ReturnLogger(), wrapper_class=everything))


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(SOON)


def failing_with(errors: list[BaseException | None]) -> tuple[Callable[[], Awaitable[None]], list[int]]:
    """Return work that raises these in turn and then nothing, and the list of its rounds."""
    done: list[int] = []

    async def work() -> None:
        done.append(1)
        if len(done) <= len(errors) and (error := errors[len(done) - 1]) is not None:
            raise error

    return work, done


async def run(errors: list[BaseException | None], **options: Any) -> list[dict[str, Any]]:
    """Run two rounds more than fail and return what was logged."""
    work, done = failing_with(errors)
    running = PeriodicTasks("test", work, SOON, **options)
    with capture_logs() as logged:
        await running.start()
        await until(lambda: len(done) >= len(errors) + 2)
        await running.stop()
    return [dict(entry) for entry in logged]


@pytest.mark.parametrize(
    "error",
    [
        ValueError("text of a document"),
        Unavailable("The store is away"),
        TimeoutError(),
        asyncio.CancelledError(),
        ExceptionGroup("several", [ValueError("text of a document")]),
    ],
)
async def test_a_streak_of_failures_is_logged_once_and_the_rounds_go_on(error: BaseException) -> None:
    logged = await run([error] * 5)
    assert [entry["event"] for entry in logged] == ["round_failed", "round_recovered"]
    assert (logged[0]["round"], logged[1]["failed"]) == ("test", 5)
    assert "text of a document" not in str(logged)


async def test_another_failure_of_a_streak_is_logged_as_well() -> None:
    logged = await run([ValueError(), ValueError(), KeyError(), Unavailable("a", reason="STORE_UNAVAILABLE")])
    assert [entry.get("reason") or entry.get("error") for entry in logged] == [
        "ValueError", "KeyError", "STORE_UNAVAILABLE", None,
    ]  # fmt: skip


async def test_a_failure_after_a_recovery_is_logged_again() -> None:
    logged = await run([ValueError(), None, ValueError()])
    assert [entry["event"] for entry in logged] == ["round_failed", "round_recovered"] * 2


async def test_a_failure_says_where_it_came_from() -> None:
    (failed, _) = await run([ValueError("text")])
    assert failed["error"] == "ValueError"
    assert "test_periodic.py:" in failed["at"]


async def test_a_round_has_its_time_and_no_more() -> None:
    begun: list[int] = []

    async def work() -> None:
        begun.append(1)
        await asyncio.Event().wait()

    running = PeriodicTasks("test", work, SOON, limit=0.02)
    with capture_logs() as logged:
        await running.start()
        await until(lambda: len(begun) >= 3)
        await running.stop()
    assert [entry["error"] for entry in logged] == ["TimeoutError"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_the_first_round_comes_at_once_or_after_a_pause(at_once: bool) -> None:
    work, done = failing_with([])
    running = PeriodicTasks("test", work, 3600.0, at_once=at_once)
    await running.start()
    await asyncio.sleep(0.05)
    await running.stop()
    assert len(done) == at_once


async def test_pauses_stray_and_are_as_long_as_they_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(module.asyncio, "sleep", noted)
    for jitter in (0.2, 0.0):
        pauses.clear()
        work, done = failing_with([])
        running = PeriodicTasks("test", work, 10.0, jitter=jitter)
        await running.start()
        while len(done) < 50:
            await sleep(0)
        await running.stop()
        assert all(10 * (1 - jitter) <= pause <= 10 * (1 + jitter) for pause in pauses)
        assert len(set(pauses)) > 40 if jitter else set(pauses) == {10.0}


async def test_each_round_has_its_own_request_and_the_service_it_belongs_to() -> None:
    seen: list[tuple[str, str, str]] = []

    async def work() -> None:
        scope = current_scope()
        seen.append((current_service(), scope.tenant_id if scope else "", request_id()))

    bind_service("starter")
    try:
        for service, expected in ((None, "starter"), ("edge", "edge")):
            seen.clear()
            running = PeriodicTasks("test", work, SOON, service=service, scope=Scope(tenant_id="t"))
            await running.start()
            await until(lambda: len(seen) >= 3)
            await running.stop()
            assert {one[:2] for one in seen} == {(expected, "t")}
            assert len({one[2] for one in seen}) == len(seen)
    finally:
        bind_service("")


async def test_a_stop_ends_a_round_in_its_middle_and_may_come_twice_or_first() -> None:
    ended: list[str] = []
    began = asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    running = PeriodicTasks("test", work, SOON)
    await running.stop()
    with capture_logs() as logged:
        await running.start()
        await running.start()
        async with asyncio.timeout(20):
            await began.wait()
        await running.stop()
        await running.stop()
    assert (ended, logged) == (["cancelled"], [])
    began.clear()
    await running.start()
    async with asyncio.timeout(20):
        await began.wait()
    await running.stop()
    assert len(ended) == 2


async def test_a_round_that_swallows_its_cancellation_is_the_last() -> None:
    began = asyncio.Event()
    done: list[int] = []

    async def work() -> None:
        done.append(1)
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    running = PeriodicTasks("test", work, 3600.0)
    await running.start()
    async with asyncio.timeout(20):
        await began.wait()
        await running.stop()
    assert len(done) == 1


async def test_a_round_that_does_not_let_go_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LETTING_GO", 0.05)
    began, let_go = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    running = PeriodicTasks("stubborn", work, SOON)
    with capture_logs() as logged:
        await running.start()
        async with asyncio.timeout(20):
            await began.wait()
            await running.stop()
    assert [(entry["event"], entry["round"]) for entry in logged] == [("round_does_not_end", "stubborn")]
    let_go.set()
    await asyncio.sleep(0.05)


async def test_what_passes_by_itself_is_a_warning_in_its_own_words() -> None:
    [failed, _] = await run([OSError(errno.ENOSPC, "no room", "/a/document.txt")])
    assert (failed["log_level"], failed["error"]) == ("warning", "There is no room left on the disk of this service")

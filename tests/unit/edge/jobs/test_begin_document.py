"""A document's recorded job is started, even if its caller is cancelled."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from dbos import DBOS
from footnote_edge.jobs import workflows
from footnote_edge.jobs.workflows import Work, activate, begin_document

JOB = ("acme", "ann", "d1", 1, "d1:1")


@pytest.fixture
def work() -> Iterator[Work]:
    """The active work, without anything behind it."""
    nothing: Any = None
    made = Work(nothing, nothing, nothing, nothing, nothing, nothing, 1.0, 1)
    activate(made)
    yield made
    activate(None)


async def test_it_is_begun_although_its_caller_goes(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    noted, begun = asyncio.Event(), []

    async def start(*arguments: Any) -> None:
        noted.set()
        await asyncio.sleep(0.01)  # between the note and the beginning
        begun.append((arguments[1:], workflows._begun_here.get()))

    monkeypatch.setattr(DBOS, "start_workflow_async", start)
    caller = asyncio.create_task(begin_document(*JOB))
    await noted.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await asyncio.gather(*work.beginnings)
    assert begun == [(("acme", "ann", "d1", 1, ""), True)]
    assert not work.beginnings


async def test_a_failure_is_the_callers(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(DBOS, "start_workflow_async", start)
    with pytest.raises(OSError, match="no space"):
        await begin_document(*JOB)
    assert not work.beginnings

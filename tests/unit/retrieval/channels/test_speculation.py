"""Work begun ahead of an answer: never kept when the answer has changed."""

from __future__ import annotations

import asyncio

import pytest
from footnote_retrieval.channels.speculation import Speculation


class Desk:
    """Answers and works on request, and remembers what it was given."""

    def __init__(self) -> None:
        self.answer = "a"
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_work = asyncio.Event()
        self.may_answer.set()
        self.may_work.set()
        self.working = asyncio.Event()
        self.worked = asyncio.Event()

    async def ask(self) -> str:
        await self.may_answer.wait()
        return self.answer

    async def work(self, answer: str) -> str:
        self.begun.append(answer)
        self.working.set()
        await self.may_work.wait()
        self.ended.append(answer)
        self.worked.set()
        return f"made of {answer}"


async def known(keep: int = 1024) -> tuple[Speculation[str], Desk]:
    """Return one that was given the same answer twice."""
    ahead, desk = Speculation[str](keep), Desk()
    for _ in range(2):
        await ahead.run("q", desk.ask, desk.work)
    return ahead, desk


async def test_the_same_answer_lets_work_begin_before_it_comes() -> None:
    ahead, desk = await known()
    desk.may_answer.clear()
    desk.worked.clear()
    running = asyncio.create_task(ahead.run("q", desk.ask, desk.work))
    await desk.worked.wait()
    assert not running.done(), "without the new answer nothing may be returned"
    desk.may_answer.set()
    assert await running == "made of a"
    assert desk.begun == ["a", "a", "a"]


async def test_while_answers_change_work_is_done_once() -> None:
    ahead, desk = await known()
    desk.answer = "0"
    await ahead.run("q", desk.ask, desk.work)
    desk.begun.clear()
    for answer in "123":
        desk.answer = answer
        assert await ahead.run("q", desk.ask, desk.work) == f"made of {answer}"
    assert desk.begun == ["1", "2", "3"]


async def test_work_on_an_answer_that_changed_is_thrown_away() -> None:
    ahead, desk = await known()
    desk.answer = "b"
    assert await ahead.run("q", desk.ask, desk.work) == "made of b"
    assert desk.ended[-1] == "b"
    assert await ahead.run("q", desk.ask, desk.work) == "made of b"
    assert desk.begun[-2:] == ["b", "b"]


async def test_a_refusal_ends_what_was_begun() -> None:
    ahead, desk = await known()
    desk.may_work.clear()

    async def refuse() -> str:
        await asyncio.sleep(0)
        raise PermissionError

    with pytest.raises(PermissionError):
        await ahead.run("q", refuse, desk.work)
    assert desk.ended == ["a", "a"]
    desk.may_work.set()
    begun = len(desk.begun)
    assert await ahead.run("q", desk.ask, desk.work) == "made of a"
    assert len(desk.begun) == begun + 1, "after a refusal nothing is begun before the answer"


async def test_errors_of_work_reach_the_caller_only_when_its_answer_holds() -> None:
    ahead, desk = await known()

    async def fail_on_a(answer: str) -> str:
        if answer == "a":
            raise KeyError(answer)
        return answer

    with pytest.raises(KeyError):
        await ahead.run("q", desk.ask, fail_on_a)
    await ahead.run("q", desk.ask, desk.work)
    desk.answer = "b"
    assert await ahead.run("q", desk.ask, fail_on_a) == "b"


async def test_a_cancelled_caller_stops_the_work() -> None:
    ahead, desk = await known()
    desk.may_work.clear()
    desk.working.clear()
    running = asyncio.create_task(ahead.run("q", desk.ask, desk.work))
    await desk.working.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    desk.may_work.set()
    await asyncio.sleep(0)
    assert desk.ended == ["a", "a"]


async def test_old_questions_are_forgotten() -> None:
    ahead, desk = Speculation[str](keep=2), Desk()
    for question in "xxyyzz":
        await ahead.run(question, desk.ask, desk.work)
    for question, early in (("z", True), ("x", False)):
        desk.may_answer.clear()
        desk.working.clear()
        running = asyncio.create_task(ahead.run(question, desk.ask, desk.work))
        for _ in range(10):
            await asyncio.sleep(0)
        assert desk.working.is_set() == early
        desk.may_answer.set()
        await running


async def test_work_that_may_not_begin_early_waits_for_the_answer() -> None:
    desk, ahead = Desk(), Speculation[str]()
    for _ in range(2):
        await ahead.run("q", desk.ask, desk.work, lambda known: known != "a")
    desk.begun.clear()
    desk.may_answer.clear()
    running = asyncio.create_task(ahead.run("q", desk.ask, desk.work, lambda known: known != "a"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert desk.begun == []
    desk.answer = "b"
    desk.may_answer.set()
    await running
    assert desk.begun == ["b"]

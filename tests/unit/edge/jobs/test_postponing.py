"""A document whose provider keeps failing releases its slot, and is retried with a growing backoff."""

import asyncio
import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_edge.jobs.postponing import Postponements, comes_again, may_be_of_one, rest_seconds
from footnote_edge.jobs.retrying import until_available
from footnote_kit.backoff import Backoff
from footnote_kit.errors import FootnoteError, Unavailable


@pytest.mark.parametrize(
    ("error", "of_one"),
    [
        (Unavailable("x", reason="PROVIDER_FAILED", metadata={"waiting": "PROVIDER"}), True),
        (Unavailable("x", reason="PROVIDER_FAILED", metadata={"waiting": "PROVIDER_REFUSED"}), True),
        (Unavailable("x", metadata={"waiting": "DATABASE"}), False),
        (Unavailable("x", metadata={"waiting": "DISK"}), False),
        (Unavailable("x", reason="STORE_UNAVAILABLE"), False),
        (Unavailable("x"), False),
        (Unavailable("x", metadata={"waiting": "PARSER_KILLED"}), False),
    ],
)
def test_what_all_wait_for_keeps_its_place(error: FootnoteError, of_one: bool) -> None:
    assert may_be_of_one(error) is of_one


async def test_pauses_grow_and_a_job_that_ended_begins_anew() -> None:
    found = Postponements(Backoff(first=0.05, longest=0.2, least=1.0), held_seconds=20)
    times = [time.monotonic()]
    came = asyncio.Event()

    async def again() -> None:
        times.append(time.monotonic())
        came.set()

    assert found.held_seconds("a:1", "t/c") == 20
    for _ in range(4):
        came.clear()
        found.postpone("a:1", again)
        assert found.waits("a:1")
        assert not found.waits("a:2")
        assert found.held_seconds("a:1", "t/c") == 0
        await came.wait()
        assert not found.waits("a:1")
    pauses = [later - earlier for earlier, later in pairwise(times)]
    for pause, least in zip(pauses, [0.05, 0.1, 0.2, 0.2], strict=True):
        assert pause >= least * 0.99
    found.ended("a:1")
    assert found.held_seconds("a:1", "t/c") == 20


async def test_where_one_document_waits_for_its_provider_others_of_its_collection_leave_their_places() -> None:
    found = Postponements(held_seconds=20)

    async def again() -> None:
        raise AssertionError("not so soon")

    found.postpone("killed:1", again, 30.0)
    assert found.held_seconds("b:1", "t/c") == 20
    found.postpone("a:1", again, collection="t/c")
    assert found.held_seconds("b:1", "t/c") == 0
    assert found.held_seconds("b:1", "t/d") == found.held_seconds("b:1", "u/c") == 20
    found.ended("a:1", "t/c")
    assert found.held_seconds("b:1", "t/c") == 20
    await found.close()


@pytest.mark.parametrize(("seconds", "ahead"), [(200, True), (-1, False), (86_400, False)])
def test_a_document_that_another_replica_put_off_comes_again_by_itself(seconds: float, ahead: bool) -> None:
    document = Document()
    assert not comes_again(document)
    document.next_attempt_time.FromMilliseconds(int((time.time() + seconds) * 1000))
    assert comes_again(document) is ahead  # a day is from a clock that was set ahead


async def test_the_oldest_job_that_waits_is_known() -> None:
    found = Postponements()

    async def again() -> None:
        raise AssertionError("not so soon")

    assert found.oldest() is None
    found.taken_on("a:1", 1_000.0)  # it is tried again, not waiting
    assert found.oldest() is None
    found.postpone("b:1", again)
    found.postpone("a:1", again)
    assert found.oldest() == datetime.fromtimestamp(1_000.0, UTC)
    await found.close()
    assert found.oldest() is None


async def test_a_pause_is_not_shorter_than_what_was_asked() -> None:
    found = Postponements(Backoff(first=0.001, longest=0.001))
    came = asyncio.Event()

    async def again() -> None:
        came.set()

    began = time.monotonic()
    found.postpone("a:1", again, 0.3)
    await came.wait()
    assert time.monotonic() - began >= 0.3


def test_only_a_file_whose_parser_was_killed_leaves_its_place_at_once() -> None:
    assert rest_seconds(Unavailable("x", metadata={"waiting": "PARSER_KILLED"}, retry_after=30.0)) == 30.0
    assert rest_seconds(Unavailable("x", metadata={"waiting": "PROVIDER"}, retry_after=30.0)) is None


async def test_nothing_is_begun_after_the_end() -> None:
    found = Postponements(Backoff(first=0.05, longest=0.2))
    begun: list[str] = []

    async def again() -> None:
        begun.append("a:1")

    found.postpone("a:1", again)
    await found.close()
    await asyncio.sleep(0.2)
    assert not begun
    assert not found.waits("a:1")


async def test_who_waits_is_told_for_how_long_and_may_give_up() -> None:
    heard: list[float] = []

    async def fails() -> None:
        raise Unavailable("away")

    def give_up(error: FootnoteError, waited: float) -> None:
        heard.append(waited)
        if waited > 0.1:
            raise LookupError

    with pytest.raises(LookupError):
        await until_available(fails, 0.05, give_up=give_up)
    assert heard[0] < 0.05
    assert heard == sorted(heard)

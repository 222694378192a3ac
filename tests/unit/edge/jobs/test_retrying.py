from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import footnote_database.failures  # noqa: F401 - it reads what drivers raise
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_edge.jobs import reindexing
from footnote_edge.jobs.ports import Item, Outcome
from footnote_edge.jobs.retrying import is_transient, until_available
from footnote_kit.errors import DeadlineExceeded, FootnoteError, InvalidArgument, ResourceExhausted, Unavailable
from sqlalchemy.exc import OperationalError


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (Unavailable("x"), True),
        (Unavailable("x", reason="STORE_UNAVAILABLE"), True),
        (Unavailable("x", reason="SHUTTING_DOWN"), True),
        (Unavailable("x", reason="PROVIDER_FAILED"), False),
        (Unavailable("x", reason="PROVIDER_FAILED", metadata={"waiting": "PROVIDER"}), True),
        (Unavailable("x", reason="PROVIDER_FAILED", metadata={"waiting": "PROVIDER_REFUSED"}), True),
        (ResourceExhausted("x", reason="RATE_LIMITED"), True),
        (ResourceExhausted("x"), False),
        (InvalidArgument("x"), False),
        (DeadlineExceeded("x"), False),
    ],
)
def test_what_passes_by_itself(error: FootnoteError, passing: bool) -> None:
    assert is_transient(error) is passing


class Flaky:
    """Fails with the given errors, then answers."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


async def test_it_is_tried_until_it_works_and_each_failure_is_told() -> None:
    flaky = Flaky(Unavailable("a"), DeadlineExceeded("b"), Unavailable("c"))
    heard: list[tuple[str, int]] = []

    async def hear(error: FootnoteError, attempt: int, pause: float) -> None:
        assert pause >= 0
        heard.append((error.message, attempt))

    assert await until_available(flaky, 0.001, hear) == "done"
    assert heard == [("a", 1), ("b", 2), ("c", 3)]


async def test_a_refusal_is_raised_at_once() -> None:
    flaky = Flaky(InvalidArgument("no"))
    with pytest.raises(InvalidArgument):
        await until_available(flaky, 0.001)
    assert flaky.calls == 1


async def test_a_timeout_is_raised_where_it_does_not_count_as_passing() -> None:
    with pytest.raises(DeadlineExceeded):
        await until_available(Flaky(DeadlineExceeded("late")), 0.001, also_timeouts=False)


async def test_a_database_of_our_own_that_is_away_is_waited_for_and_a_wrong_statement_is_not() -> None:
    gone, wrong = Exception("terminating connection"), Exception("no such table")
    gone.sqlstate, wrong.sqlstate = "57P01", "42P01"  # type: ignore[attr-defined]
    assert await until_available(Flaky(OperationalError("select", {}, gone)), 0.001) == "done"
    with pytest.raises(OperationalError):
        await until_available(Flaky(OperationalError("select", {}, wrong)), 0.001)


async def test_a_reindexing_reads_all_changes_again_ever_more_rarely_while_no_document_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a clock of the test: each look takes a second, and one of two documents ends at the 100th."""
    looks: list[int] = []
    settled: list[int] = []
    item = Item("a", "c", 2, outcome=Outcome.PENDING)

    class Book:
        async def read(self, operation_id: str) -> Any:
            return SimpleNamespace(create_time=datetime(2026, 11, 1, tzinfo=UTC))

        async def items(self, operation_id: str, after: str, limit: int) -> list[Item]:
            return [] if after else [item, replace(item, document_id="b")]

        async def is_cancelled(self, operation_id: str) -> bool:
            return len(looks) >= 3000

        async def settle(self, operation_id: str, outcomes: Mapping[str, Outcome]) -> None:
            settled.append(len(looks))

    async def look(scope: Any, collection_id: str, items: Any, since: int) -> tuple[dict[str, Outcome], int]:
        looks.append(since)
        return ({"a": Outcome.DONE} if len(looks) == 100 else {}), 0

    settings: Any = SimpleNamespace(call_timeout_seconds=1, retry_ceiling_seconds=1, watch_poll_seconds=0)
    stages: Any = SimpleNamespace(ingestion=None)
    book: Any = Book()
    following: Any = reindexing.Reindexing(stages, Any, book, settings)
    monkeypatch.setattr(following, "_look", look)
    monkeypatch.setattr(reindexing, "time", SimpleNamespace(monotonic=lambda: float(len(looks))))
    await following.follow(Scope(), "operation")
    again = [place for place, since in enumerate(looks) if since]
    assert settled == [100]
    assert again == [0, 11, 32, 73, 111, 132, 173, 254, 415, 736, 1337, 1938, 2539]

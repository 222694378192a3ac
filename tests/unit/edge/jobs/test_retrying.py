from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import footnote_database.failures  # noqa: F401 - it reads what drivers raise
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_edge.jobs import changes, reindexing
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


async def test_a_reindexing_reads_documents_by_their_ids_ever_more_rarely_while_none_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a clock of the test: each look takes a second. The feed names one document at the 100th; one is lost later."""
    looks: list[int] = []
    settled: list[tuple[int, str]] = []
    reads: list[tuple[int, str]] = []
    waiting = {key: Item(key, "c", 2, outcome=Outcome.PENDING) for key in "abcd"}

    class Book:
        async def read(self, operation_id: str) -> Any:
            return SimpleNamespace(create_time=datetime(2026, 11, 1, tzinfo=UTC))

        async def items(self, operation_id: str, after: str, limit: int) -> list[Item]:
            return [one for key, one in waiting.items() if key > after][:limit]

        async def is_cancelled(self, operation_id: str) -> bool:
            return len(looks) >= 1400

        async def settle(self, operation_id: str, outcomes: Mapping[str, Outcome]) -> None:
            for document_id in outcomes:
                settled.append((len(looks), document_id))
                del waiting[document_id]

    async def look(scope: Any, collection_id: str, items: Any, since: int) -> tuple[dict[str, Outcome], int]:
        looks.append(since)
        return ({"a": Outcome.DONE} if len(looks) == 100 else {}), 0

    async def document(scope: Any, document_id: str) -> Document | None:
        reads.append((len(looks), document_id))
        return None if document_id == "d" and len(looks) > 1000 else Document(revision=2)

    settings: Any = SimpleNamespace(call_timeout_seconds=1, retry_ceiling_seconds=1, watch_poll_seconds=0)
    stages: Any = SimpleNamespace(ingestion=None)
    book: Any = Book()
    following: Any = reindexing.Reindexing(stages, Any, book, settings)
    monkeypatch.setattr(following, "_look", look)
    monkeypatch.setattr(following._feed, "document", document)
    monkeypatch.setattr(reindexing, "CHECK_BATCH", 2)
    monkeypatch.setattr(changes, "time", SimpleNamespace(monotonic=lambda: float(len(looks))))
    await following.follow(Scope(), "operation")
    assert [place for place, since in enumerate(looks) if since] == [0]
    assert settled == [(100, "a"), (1337, "d")]
    times = sorted({place for place, _ in reads})
    assert times == [11, 32, 73, 111, 132, 173, 254, 415, 736, 1337, 1338, 1349, 1370]
    read = ["".join(key for at, key in reads if at == place) for place in times]
    assert read == ["ab", "cd", "ab", "cd", "bc", "d", "bc", "d", "bc", "d", "bc", "bc", "bc"]

"""A poll asks the database while its queue has work and for a while after, and seldom when all is idle."""

from __future__ import annotations

from typing import Any

from footnote_edge.jobs.queue_polling import BUSY_SECONDS, IDLE_SECONDS, START_SECONDS, QueuePolling, limit_polls

SECONDS = 0.25


class Queue:
    """A pace with a clock of its own, some time after the launch."""

    def __init__(self, since: float = START_SECONDS) -> None:
        self.now = 0.0
        self.works = False
        self.pace = QueuePolling(SECONDS, lambda: self.works, clock=lambda: self.now)
        self.now = since

    def asks(self, seconds: float, every: float = 0.05) -> int:
        """Return how many polls of so many seconds ask."""
        asked = 0
        for _ in range(round(seconds / every)):
            self.now += every
            asked += self.pace.is_due()
        return asked


def test_an_idle_queue_is_asked_seldom() -> None:
    queue = Queue()
    assert queue.pace.is_due()
    assert queue.asks(IDLE_SECONDS - 0.1) == 0
    assert queue.asks(0.2) == 1


def test_a_job_is_looked_for_at_the_next_poll() -> None:
    queue = Queue()
    queue.pace.is_due()
    queue.pace.poll_now()
    assert queue.asks(BUSY_SECONDS - 0.05) == round(BUSY_SECONDS / 0.05) - 1
    queue.now += 0.1
    assert queue.asks(IDLE_SECONDS - 0.3) == 0


def test_a_queue_is_asked_at_its_pace_while_a_job_runs() -> None:
    queue = Queue()
    queue.works = True
    assert queue.asks(10 * SECONDS) in range(7, 11)


def test_a_queue_is_asked_at_its_pace_after_the_launch() -> None:
    """What dbos puts back of the process before is told to nobody."""
    queue = Queue(since=0.0)
    assert queue.asks(10 * SECONDS) in range(7, 11)


class Database:
    """What dbos asks; counts questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get_queue(self, name: str, *, client_system_database: object = None) -> str | None:
        self.asked.append(f"settings of {name}")
        return None if name == "gone" else f"stored {name}"

    def dequeue_scopes(self, name: str) -> list[None]:
        return [None]

    def cancel_timed_out_workflows(self, limit: int) -> list[str]:
        self.asked.append("limits")
        return []

    def transition_delayed_workflows(self) -> None:
        self.asked.append("delays")


def test_dbos_asks_when_a_poll_is_due_and_for_nothing_that_never_changes() -> None:
    database, queue = Database(), Queue()
    given: Any = {"documents": "ours"}
    limit_polls(database, given, {"documents": queue.pace}, Queue().pace)  # type: ignore[arg-type]
    assert database.get_queue("documents") == "ours"
    assert database.dequeue_scopes("documents") == [None]
    assert database.dequeue_scopes("documents") == []
    queue.pace.poll_now()
    assert database.dequeue_scopes("documents") == [None]
    assert database.cancel_timed_out_workflows(10) == []
    database.transition_delayed_workflows()
    assert database.asked == []
    assert (database.get_queue("another"), database.get_queue("gone")) == ("stored another", None)
    assert [database.dequeue_scopes("dbos' own") for _ in range(2)] == [[None], []]

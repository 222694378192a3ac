"""What `system` needs of its stores: counts of activity, and the exchange of traces between replicas."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

Key = tuple[str, str, str]
"""A tenant, an hour and a measure."""


class Activity(Protocol):
    """Stored counts; see `adapters.usage.ActivityTable`."""

    async def add(self, items: Mapping[Key, int]) -> None:
        """Add counts, all of them or none."""

    async def since(self, tenant: str, first: datetime) -> dict[str, dict[str, int]]:
        """Return a tenant's counts by hour and measure, from the hour of a time on."""


class TraceExchange(Protocol):
    """Questions between replicas; see `adapters.trace_questions.TraceQuestionTable`. Raises Unavailable."""

    async def put(self, question: str, addressees: Sequence[str], request: bytes) -> None:
        """Store a question to several replicas."""

    async def answers(self, question: str) -> list[bytes]:
        """Return the answers to a question so far."""

    async def waiting(self, addressee: str, most: int) -> list[tuple[str, bytes]]:
        """Return a replica's questions without an answer, and their requests."""

    async def answer(self, question: str, addressee: str, answer: bytes | None) -> None:
        """Store a replica's answer; None deletes its question."""

    async def all(self) -> set[str]:
        """Return all questions."""

    async def remove(self, questions: Iterable[str]) -> None:
        """Delete questions with their answers."""

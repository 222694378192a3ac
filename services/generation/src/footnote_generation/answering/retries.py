"""Time limits and retries around a model's stream: retries only before the first word; a cut is never silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from footnote_kit import names
from footnote_kit.backoff import Backoff, no_sooner
from footnote_kit.errors import DeadlineExceeded, FootnoteError, ResourceExhausted, Unavailable
from footnote_kit.telemetry import side_span

from footnote_generation.answering.arrivals import Arrivals
from footnote_generation.ports import (
    Finished,
    ModelEvent,
    ModelProvider,
    ModelRequest,
    RetryableFailure,
    Thought,
    Words,
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts for a model, in seconds, and the number of attempts."""

    first_token: float = 30.0
    between_tokens: float = 20.0
    attempts: int = 3
    first_backoff: float = 0.5
    longest_backoff: float = 8.0
    longest_retry_after: float = 30.0


async def stream_with_retries(
    provider: ModelProvider, request: ModelRequest, retry_policy: RetryPolicy
) -> AsyncGenerator[Words | Finished, None]:
    """Stream an answer like `events_with_retries`, without the model's reasoning."""
    async with aclosing(events_with_retries(provider, request, retry_policy)) as stream:
        async for event in stream:
            if not isinstance(event, Thought):
                yield event


async def events_with_retries(
    provider: ModelProvider, request: ModelRequest, retry_policy: RetryPolicy, remaining: float | None = None
) -> AsyncGenerator[ModelEvent, None]:
    """Stream an answer within the time limits; `remaining` is the whole call's time left, None for no limit.

    A thought shows that the model is at work, so each one restarts the wait. Raises Unavailable(PROVIDER_FAILED) after
    the last attempt or when the stream breaks off. Raises DeadlineExceeded with metadata stage and waiting_for when the
    model is too slow.
    """
    loop = asyncio.get_running_loop()
    end = None if remaining is None else loop.time() + remaining
    for attempt in range(1, retry_policy.attempts + 1):
        started = False
        try:
            with side_span(f"attempt {attempt}", _attributes(provider, request, attempt)):
                async with aclosing(_limited(provider, request, retry_policy)) as stream:
                    async for event in stream:
                        started = started or not isinstance(event, Thought)
                        yield event
            return
        except RetryableFailure as error:
            if started:
                raise _failed(provider, f"stopped in the middle of the answer: {error.message}", error) from error
            wait = _wait(error, attempt, retry_policy)
            out_of_time = end is not None and loop.time() + wait >= end
            too_long = error.retry_after is not None and error.retry_after > retry_policy.longest_retry_after
            if attempt == retry_policy.attempts or out_of_time or too_long:
                raise _failed(provider, f"failed after {attempt} attempts: {error.message}", error) from error
            await asyncio.sleep(wait)


def _attributes(provider: ModelProvider, request: ModelRequest, attempt: int) -> dict[str, str | int]:
    return {
        names.GEN_AI_OPERATION: "chat",
        names.GEN_AI_PROVIDER: provider.id,
        names.GEN_AI_REQUEST_MODEL: request.model or provider.default_model,
        names.ATTEMPT: attempt,
    }


async def _limited(
    provider: ModelProvider, request: ModelRequest, retry_policy: RetryPolicy
) -> AsyncGenerator[ModelEvent, None]:
    """Run one attempt: a limit to the first word, one between words, and an error if it ends without Finished."""
    words = False
    async with Arrivals(provider.stream(request)) as arrivals:
        while True:
            limit = retry_policy.between_tokens if words else retry_policy.first_token
            try:
                events = await arrivals.take(limit)
            except TimeoutError as error:
                waiting_for = "next token" if words else "first token"
                raise DeadlineExceeded(
                    f"Generation: the model {provider.id} sent no {waiting_for} within {limit:g} s.",
                    metadata={"stage": "generation", "waiting_for": waiting_for, "provider": provider.id},
                ) from error
            if not events:
                raise RetryableFailure("the connection closed before the answer was complete")
            for event in events:
                if isinstance(event, Words) and event.text:
                    words = True
                yield event
                if isinstance(event, Finished):
                    return


def _wait(error: RetryableFailure, attempt: int, retry_policy: RetryPolicy) -> float:
    if error.retry_after is not None:
        return no_sooner(error.retry_after)
    return Backoff(retry_policy.first_backoff, retry_policy.longest_backoff).pause(attempt)


def _failed(provider: ModelProvider, what: str, error: RetryableFailure) -> FootnoteError:
    metadata = {"provider": provider.id, "stage": "generation"}
    if error.status:
        metadata["status"] = str(error.status)
    # A throttled caller learns that and how long to wait, whichever API the question came through.
    kind = ResourceExhausted if error.throttled else Unavailable
    return kind(
        f"The model {provider.id} {what}", reason="PROVIDER_FAILED", metadata=metadata, retry_after=error.retry_after
    )

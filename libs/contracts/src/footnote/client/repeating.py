"""Which calls may be repeated, when, and how long to wait before.

A method may be repeated whose contract says NO_SIDE_EFFECTS or IDEMPOTENT, or that takes a `request_id`, under which
the server does a thing once. UNAVAILABLE is repeated after a growing pause, RESOURCE_EXHAUSTED only where the server
says when: a rate limit passes, a quota does not.
"""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from footnote_kit.backoff import Backoff, no_sooner
from footnote_kit.edge import METHODS, PATHS
from footnote_kit.errors import FootnoteError, ResourceExhausted, Unavailable
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message

Request = TypeVar("Request", bound=Message)
_REQUEST_ID = "request_id"
_SAFE = (MethodOptions.NO_SIDE_EFFECTS, MethodOptions.IDEMPOTENT)
_METHODS: Mapping[str, MethodDescriptor] = {PATHS[method.name]: method for method in METHODS}


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a call is made at most, and the pauses between in seconds: from `first`, doubling, to `longest`.

    A server that asks for a longer wait than `longest` is not waited for: its error is raised. `attempts` 1 repeats
    nothing.
    """

    attempts: int = 4
    first: float = 0.1
    longest: float = 10.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 < self.first <= self.longest:
            raise ValueError("Retry needs attempts of 1 or more, and 0 < first <= longest")


def prepared(path: str, request: Request, retry: Retry) -> tuple[Request, bool]:
    """Return the request to send, with a request id where it takes one, and whether it may be sent again."""
    method = _METHODS.get(path)
    if method is None or retry.attempts == 1:
        return request, False
    if _REQUEST_ID in method.input_type.fields_by_name:
        if not getattr(request, _REQUEST_ID):
            copy = type(request)()
            copy.CopyFrom(request)
            setattr(copy, _REQUEST_ID, new_request_id())
            request = copy
        return request, True
    return request, method.GetOptions().idempotency_level in _SAFE


def new_request_id() -> str:
    """Return an id under which a write is done once."""
    return str(uuid.uuid4())


class Attempts:
    """One call's attempts, all within its deadline."""

    def __init__(self, retry: Retry, repeatable: bool, timeout: float) -> None:
        self._retry = retry
        self._left = retry.attempts if repeatable else 1
        self._made = 0
        self._backoff = Backoff(retry.first, retry.longest)
        self._end = time.monotonic() + timeout

    def remaining(self) -> float:
        """Return the seconds that the next attempt has."""
        return max(0.001, self._end - time.monotonic())

    def begun_anew(self) -> None:
        """Count from the start: something was received, so that the next failure is another one."""
        self._left, self._made = self._retry.attempts, 0

    def pause(self, failure: FootnoteError) -> float | None:
        """Return the seconds to wait before the next attempt; None where `failure` is to be raised."""
        self._left -= 1
        self._made += 1
        asked = failure.retry_after
        passes = isinstance(failure, Unavailable) or (isinstance(failure, ResourceExhausted) and asked is not None)
        if self._left < 1 or not passes:
            return None
        if asked is not None and asked > self._retry.longest:
            return None
        pause = no_sooner(asked) if asked else self._backoff.pause(self._made)
        return pause if time.monotonic() + pause < self._end else None

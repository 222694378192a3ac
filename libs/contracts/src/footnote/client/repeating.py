"""Retry policy: which calls may be retried, when, and after which delay.

A method may be retried if its contract says NO_SIDE_EFFECTS or IDEMPOTENT, or if it takes a `request_id`, under which
the server acts only once. Two kinds of call are not: those whose response shows a secret only once, and changes under
an etag, which the first attempt has changed. UNAVAILABLE is retried with exponential backoff. RESOURCE_EXHAUSTED is
retried only if the server states a delay: a rate limit passes, a quota does not.
"""

import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from footnote_kit.backoff import Backoff, no_sooner
from footnote_kit.edge import METHODS, PATHS
from footnote_kit.errors import FootnoteError, ResourceExhausted, Unavailable
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message

from footnote.client.failures import Unreached

Request = TypeVar("Request", bound=Message)
_REQUEST_ID, _ALLOW_MISSING, _ETAG, _TOLD_ONCE = "request_id", "allow_missing", "etag", "secret"
_SAFE = (MethodOptions.NO_SIDE_EFFECTS, MethodOptions.IDEMPOTENT)
_METHODS: Mapping[str, MethodDescriptor] = {PATHS[method.name]: method for method in METHODS}


@dataclass(frozen=True, slots=True)
class Retry:
    """Maximum number of attempts, and the delays between them in seconds: from `first`, doubling, to `longest`.

    If a server asks for a longer delay than `longest`, its error is raised. With `attempts` 1 there are no retries.
    """

    attempts: int = 7
    first: float = 0.1
    longest: float = 10.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 < self.first <= self.longest:
            raise ValueError("Retry needs attempts of 1 or more, and 0 < first <= longest")

    def covers(self, failure: FootnoteError) -> bool:
        """Return whether a failure may pass by itself, and soon enough to be retried."""
        asked = failure.retry_after
        if isinstance(failure, ResourceExhausted):
            return asked is not None and asked <= self.longest
        return isinstance(failure, Unavailable) and (asked is None or asked <= self.longest)


def prepared(path: str, request: Request, retry: Retry) -> tuple[Request, bool]:
    """Return the request to send, with a request id if it takes one, and whether it may be retried."""
    method = _METHODS.get(path)
    if method is None or retry.attempts == 1:
        return request, False
    if _TOLD_ONCE in method.output_type.fields_by_name or _has_etag(request):
        return request, False
    if _REQUEST_ID in method.input_type.fields_by_name:
        if not getattr(request, _REQUEST_ID):
            copy = type(request)()
            copy.CopyFrom(request)
            setattr(copy, _REQUEST_ID, new_request_id())
            request = copy
        return request, True
    return request, method.GetOptions().idempotency_level in _SAFE


def _has_etag(request: Message) -> bool:
    """Return whether a request, or the resource in it, says which version it changes."""
    inner = (value for field, value in request.ListFields() if isinstance(value, Message))
    return any(getattr(one, _ETAG, "") for one in (request, *inner))


def again(request: Any, failure: FootnoteError) -> Any:
    """Return the request of a further attempt: the first may have deleted already what is to be deleted.

    Not if it was refused or reached no server, nor where it names several things, since one of them may be wrong.
    """
    may_be_done = isinstance(failure, Unavailable) and not isinstance(failure, Unreached)
    if not may_be_done or not isinstance(request, Message) or _ALLOW_MISSING not in request.DESCRIPTOR.fields_by_name:
        return request
    if any(field.is_repeated and len(value) > 1 for field, value in request.ListFields()):
        return request
    copy = type(request)()
    copy.CopyFrom(request)
    setattr(copy, _ALLOW_MISSING, True)
    return copy


def new_request_id() -> str:
    """Return a new request id."""
    return str(uuid.uuid4())


class Attempts:
    """One call's attempts, all within its deadline; with `endless` as many as fit into it, unless there is only one."""

    def __init__(self, retry: Retry, repeatable: bool, timeout: float, *, endless: bool = False) -> None:
        self._retry = retry
        self._most = math.inf if endless and retry.attempts > 1 else retry.attempts
        self._left = self._most if repeatable else 1
        self._made = 0
        self._backoff = Backoff(retry.first, retry.longest)
        self._end = time.monotonic() + timeout

    def remaining(self) -> float:
        """Return the remaining seconds for the next attempt."""
        return max(0.0, self._end - time.monotonic())

    def reset(self) -> None:
        """Reset the count: a response arrived, so the next failure is a new one."""
        self._left, self._made = self._most, 0

    def pause(self, failure: FootnoteError) -> float | None:
        """Return the delay in seconds before the next attempt; None if `failure` is to be raised."""
        self._left -= 1
        self._made += 1
        asked = failure.retry_after
        if self._left < 1 or not self._retry.covers(failure):
            return None
        pause = no_sooner(asked) if asked else self._backoff.pause(self._made)
        return pause if time.monotonic() + pause < self._end else None

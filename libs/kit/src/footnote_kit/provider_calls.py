"""Shared rules of services with providers: settings that callers may not set, and health checks."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any

from footnote.types.v1.provider_pb2 import ProviderHealth, ProviderKind
from google.protobuf import json_format

from footnote_kit.errors import FailedPrecondition, FootnoteError
from footnote_kit.redact import redact_all
from footnote_kit.timings import duration

_DEPLOYMENTS = re.compile(
    r"(?i)(?:^|_)(?:ur[il]|endpoint|host|hostname|address|proxy|path|file|filename|folder|dir|directory|env|environment"
    r"|variable|key|apikey|secret|password|credentials?|headers?)(?:_|$)|(?:^|_)token$"
)


def callers_own(settings: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each setting that only the deployment may set: an address, path, key or variable.

    Otherwise a caller could make this service call any address on its network. By naming a variable as well, the
    caller could have a key sent there.
    """
    return [
        f"{name} is set for the deployment, by its environment, never by a caller or a collection."
        for name in settings
        if _DEPLOYMENTS.search(name)
    ]


def unconfigured(kind: str, provider: str, needs: str, message: str) -> FailedPrecondition:
    """Return the error for a provider that lacks what it `needs`: the name of a variable, or a phrase."""
    return FailedPrecondition(
        message, reason="PROVIDER_UNCONFIGURED", metadata={"kind": kind, "provider": provider, "needs": needs}
    )


async def health(
    kind: ProviderKind.ValueType, id: str, ask: Callable[[], Awaitable[Mapping[str, Any]]], seconds: float
) -> ProviderHealth:
    """Check a provider for at most `seconds`; a failure becomes part of the result and is never raised."""
    found = ProviderHealth(kind=kind, id=id)
    found.check_time.GetCurrentTime()
    started = perf_counter()
    try:
        async with asyncio.timeout(seconds):
            json_format.ParseDict(redact_all(dict(await ask())), found.details)
        found.healthy = True
    except FootnoteError as error:
        found.error = error.message
    except TimeoutError:
        found.error = f"No answer within {seconds:g} s."
    found.latency.CopyFrom(duration(perf_counter() - started))
    return found

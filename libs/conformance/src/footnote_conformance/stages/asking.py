"""Helpers for requests that must be refused; a failure reports the actual response."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope

from footnote_conformance.suite import Failed, expect
from footnote_conformance.target import Refusal, Target, request_of

_SHOWN = 200
Expected = tuple[str, str]
"""A status code and a reason."""

INVALID: Expected = ("INVALID_ARGUMENT", "INVALID_FIELD")


async def refused(call: Awaitable[Any], wanted: Expected, about: str, field: str = "") -> Refusal:
    """Return a call's refusal; Failed if it is a different one or does not name the field."""
    try:
        answer = await call
    except Refusal as refusal:
        expect(
            (refusal.code, refusal.reason) == wanted and refusal.typed,
            f"{about}: {refusal} (domain '{refusal.domain}'), not {' '.join(wanted)}",
        )
        expect(not field or field in refusal.fields, f"{about}: {refusal}, without the field {field}")
        return refusal
    raise Failed(f"{about}: it was answered ({str(answer)[:_SHOWN]}…), not refused with {' '.join(wanted)}")


async def refused_field(target: Target, method: str, field: str, **fields: Any) -> None:
    """Call with one wrong field, which must be refused."""
    await refused(target.call(method, **fields), INVALID, f"{method} with a wrong {field}", field)


async def with_scope(target: Target, method: str, scope: Scope | None, **fields: Any) -> Any:
    """Call a method with another scope and its proof."""
    return await target.stage.call(method, request_of(target.stage.contract.methods_by_name[method], scope, **fields))


def stranger(target: Target) -> Scope:
    """Return an administrator of another tenant."""
    return target.in_new_tenant().scope


async def at_once(calls: Sequence[Awaitable[Any]]) -> list[Any]:
    """Return the responses of concurrent calls; raises the first failure."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_awaited(call)) for call in calls]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call

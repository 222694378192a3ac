"""The durable workflows of sources: repeated whole after a crash; the tables of sources hold their progress."""

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable

from dbos import DBOS
from footnote.edge.v1.operations_pb2 import OPERATION_KIND_DELETE_SOURCE, OPERATION_KIND_SYNC_SOURCE
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import system_scope
from footnote_kit.context import detached
from footnote_kit.telemetry import span

from footnote_edge.jobs.operation_workflows import WORKFLOWS, ending
from footnote_edge.jobs.workflows import Work, active_work
from footnote_edge.sources.engine import Engine

_LOOK = 0.05
_engine: Engine | None = None


def activate(engine: Engine | None) -> None:
    """Set the workflows' engine, or clear it with None."""
    global _engine
    _engine = engine


async def _active() -> Engine:
    # The ledger resumes interrupted jobs when it opens, before the engine's components exist.
    while _engine is None:  # noqa: ASYNC110 - an event would belong to one loop; a process may build edge twice
        await asyncio.sleep(_LOOK)
    return _engine


@DBOS.workflow(name="operation_sync_source", max_recovery_attempts=None)
async def synchronise(tenant: str, user: str, operation_id: str, collection_id: str) -> None:
    """Synchronise a source."""
    await _apart("synchronise source", tenant, user, operation_id, lambda engine: engine.synchronise)


@DBOS.workflow(name="operation_delete_source", max_recovery_attempts=None)
async def delete(tenant: str, user: str, operation_id: str, collection_id: str) -> None:
    """Delete a source with its documents."""
    await _apart("delete source", tenant, user, operation_id, lambda engine: engine.delete)


async def _apart(
    name: str,
    tenant: str,
    user: str,
    operation_id: str,
    which: Callable[[Engine], Callable[[Scope, str], Awaitable[str]]],
) -> None:
    """Run the engine in a context of its own: the jobs of its documents are not part of this workflow."""
    work, scope = active_work(), system_scope(tenant, user)
    with work.running():
        inner = asyncio.create_task(_run(work, scope, name, operation_id, which), context=contextvars.Context())
        try:
            await asyncio.shield(inner)
        finally:
            inner.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await inner


async def _run(
    work: Work,
    scope: Scope,
    name: str,
    operation_id: str,
    which: Callable[[Engine], Callable[[Scope, str], Awaitable[str]]],
) -> None:
    with detached("edge", scope), span(name, {}):

        async def run() -> None:
            await which(await _active())(scope, operation_id)

        await ending(work, scope, operation_id, run)


WORKFLOWS |= {OPERATION_KIND_SYNC_SOURCE: synchronise, OPERATION_KIND_DELETE_SOURCE: delete}

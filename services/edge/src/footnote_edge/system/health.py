"""Health of all components of a deployment, checked concurrently and at most once a second."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_STORE
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_kit.admission.process_load import ProcessLoads
from footnote_kit.context import detached
from footnote_kit.errors import FootnoteError

from footnote_edge.ports import STAGE_NAMES, Stages

STORE = "vector store"
TIMEOUT = 3.0
FRESH_SECONDS = 1.0
"""Seconds for which a result is cached: the check is public, so extra calls must not load the stages."""

# Health probes have no identity; this scope shows them no data of any tenant.
_PROBE_SCOPE = Scope(tenant_id="health", user_id="health", roles=[ROLE_READER])


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """The health of one component; `latency` in seconds, `detail` for further information."""

    name: str
    error: str
    latency: float
    detail: str = ""
    lag: float | None = None
    """Maximum event loop lag in seconds over the last minute; None if unknown."""


class Health:
    """Calls every stage's health service, and indexing for the vector store."""

    def __init__(
        self,
        stages: Stages,
        check: Callable[[str], Awaitable[str | None]],
        own: Callable[[], Awaitable[str | None]],
        loads: ProcessLoads,
    ) -> None:
        self._loads = loads
        self._indexing = stages.indexing
        self._ingestion = stages.ingestion
        self._embedder = ""
        self._check = check
        self._own = own
        self._began = -math.inf
        self._check_task: asyncio.Task[list[ComponentHealth]] | None = None

    async def components(self) -> list[ComponentHealth]:
        """Return the health of the five stages, of edge itself and of the vector store, at most a second old."""
        now = time.monotonic()
        if self._check_task is None or (self._check_task.done() and now - self._began >= FRESH_SECONDS):
            self._began = now
            with detached("edge"):  # shared: it must not belong to the first caller's context
                self._check_task = asyncio.create_task(self._check_all(), name="edge-health")
        return await asyncio.shield(self._check_task)

    async def _check_all(self) -> list[ComponentHealth]:
        asked: list[tuple[str, Awaitable[str | None]]] = [(name, self._check(name)) for name in STAGE_NAMES]
        asked += [("edge", self._own()), (STORE, self._store())]
        timed = asyncio.gather(*(_timed(name, answer) for name, answer in asked))
        isolation, components = await asyncio.gather(self._isolated(), timed)
        details = {"ingestion": isolation, "indexing": self._embedder}
        return [
            replace(component, detail=details.get(component.name, ""), lag=self._lag(component.name))
            for component in components
        ]

    def _lag(self, name: str) -> float | None:
        load = self._loads.of(name)
        return load.worst if load is not None else None

    async def _isolated(self) -> str:
        """Return how ingestion isolates its parser processes, and what else it lacks; "" where it does not say."""
        request = ingestion.GetIsolationRequest(scope=_PROBE_SCOPE)
        with suppress(FootnoteError):
            return (await self._ingestion.GetIsolation(request, timeout=TIMEOUT)).summary
        return ""

    async def _store(self) -> str | None:
        request = indexing.ListProvidersRequest(scope=_PROBE_SCOPE)
        listed = await self._indexing.ListProviders(request, timeout=TIMEOUT)
        self._embedder = next((one.note for one in listed.providers if one.is_default), "")
        for provider in listed.providers:
            if provider.kind == PROVIDER_KIND_STORE:
                check = indexing.CheckProviderRequest(scope=_PROBE_SCOPE, kind=PROVIDER_KIND_STORE, id=provider.id)
                health = (await self._indexing.CheckProvider(check, timeout=TIMEOUT)).health
                return None if health.healthy else (health.error or "not healthy")
        return "no vector store is registered"


async def _timed(name: str, answer: Awaitable[str | None]) -> ComponentHealth:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT):
            error = await answer
    except FootnoteError as failure:
        error = failure.message
    except TimeoutError:
        error = f"no answer within {TIMEOUT:.0f} s"
    return ComponentHealth(name, error or "", time.perf_counter() - began)

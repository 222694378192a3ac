"""What health says of ingestion is what ingestion says now: an operator repairs it and looks again."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.indexing.v1.indexing_service_pb2 import ListProvidersResponse
from footnote.ingestion.v1.ingestion_service_pb2 import GetIsolationResponse
from footnote_edge.system import health


async def test_a_repaired_ingestion_is_shown_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)
    said = ["Isolated. No tesseract", "Isolated"]

    async def isolation(request: Any, timeout: float) -> GetIsolationResponse:
        return GetIsolationResponse(summary=said.pop(0))

    async def providers(request: Any, timeout: float) -> ListProvidersResponse:
        return ListProvidersResponse()

    async def well(*names: str) -> None:
        return None

    stages = SimpleNamespace(
        ingestion=SimpleNamespace(GetIsolation=isolation), indexing=SimpleNamespace(ListProviders=providers)
    )
    asked = health.Health(cast(Any, stages), well, well, cast(Any, SimpleNamespace(of=lambda name: None)))
    for wanted in ("Isolated. No tesseract", "Isolated"):
        details = {part.name: part.detail for part in await asked.components()}
        assert details["ingestion"] == wanted

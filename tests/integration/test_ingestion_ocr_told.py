"""A service that shall read scans and has no tesseract says so to its operator."""

import asyncio
from pathlib import Path

import pytest
from footnote.ingestion.v1.ingestion_service_pb2 import GetIsolationRequest
from footnote.ingestion.v1.ingestion_service_pb2_grpc import IngestionServiceStub
from footnote_ingestion.app import build
from footnote_kit.testing import SCOPE, serve_app


async def test_health_is_told_that_ocr_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_INGESTION_OCR_LANGUAGES", "eng")
    monkeypatch.setenv("PATH", str(tmp_path))
    async with serve_app(build, data_dir=tmp_path / "data") as running, asyncio.timeout(60):
        stub = IngestionServiceStub(running.channel)
        while not (summary := (await stub.GetIsolation(GetIsolationRequest(scope=SCOPE))).summary):  # noqa: ASYNC110  # at its leisure
            await asyncio.sleep(0.05)
    assert "tesseract is not installed" in summary

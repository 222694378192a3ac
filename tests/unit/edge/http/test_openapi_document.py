"""The OpenAPI document is written when it is first asked for, and once."""

import asyncio
from typing import Any

import pytest
from footnote_edge.http.openapi import document as openapi
from starlette.requests import Request


async def test_it_is_written_for_the_first_request_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    document = openapi.document

    def counted(version: str) -> dict[str, Any]:
        written.append(version)
        return document(version)

    monkeypatch.setattr(openapi, "document", counted)
    endpoints = [route.endpoint for route in openapi.routes("1.2.3.test")]
    assert not written, "a start that writes it takes 60 ms longer"
    request = Request({"type": "http"})
    answers = await asyncio.gather(*(endpoint(request) for endpoint in endpoints * 8))
    assert written == ["1.2.3.test"]
    assert {answer.media_type for answer in answers} == {"application/json", "text/html"}

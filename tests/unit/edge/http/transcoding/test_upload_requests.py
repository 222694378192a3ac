"""What an upload over HTTP is taken for: a form by its media type in any case, a boolean by its words."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from footnote.edge.v1 import documents_pb2 as pb
from footnote_edge.http.serving.problems import on_footnote_error
from footnote_edge.http.transcoding import uploads
from footnote_kit.errors import FootnoteError
from starlette.applications import Starlette

FORM = b'--X\r\ncontent-disposition: form-data; name="file"; filename="f.txt"\r\n\r\nsome words\r\n--X--\r\n'


class Calls:
    """Notes each upload instead of making it."""

    def __init__(self) -> None:
        self.metadata = pb.UploadMetadata()
        self.data = b""

    async def unary(self, name: str, messages: AsyncIterator[Any], request: Any) -> pb.UploadDocumentResponse:
        async for one in messages:
            if one.HasField("metadata"):
                self.metadata = one.metadata
            self.data += one.data
        return pb.UploadDocumentResponse()


async def post(calls: Calls, path: str, content: bytes, media_type: str) -> httpx2.Response:
    application = Starlette(
        routes=uploads.routes(calls),  # type: ignore[arg-type]
        exception_handlers={FootnoteError: on_footnote_error},
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://edge") as http:
        return await http.post(path, content=content, headers={"content-type": media_type})


@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=X", "Multipart/Form-Data; boundary=X"])
async def test_the_envelope_of_a_form_is_no_document(media_type: str) -> None:
    calls = Calls()
    assert (await post(calls, "/v1/documents", FORM, media_type)).status_code == 201
    assert (calls.metadata.filename, calls.data) == ("f.txt", b"some words")


@pytest.mark.parametrize(
    ("text", "meant"), [("true", True), ("True", True), ("1", True), ("false", False), ("0", False), ("", False)]
)
async def test_a_boolean_is_what_it_says(text: str, meant: bool) -> None:
    calls = Calls()
    await post(calls, f"/v1/documents?filename=a.txt&allow_duplicate={text}", b"words", "text/plain")
    assert calls.metadata.allow_duplicate is meant


@pytest.mark.parametrize("text", ["yes", "on", "1%20", "2"])
async def test_what_is_no_boolean_is_refused(text: str) -> None:
    calls = Calls()
    path = f"/v1/documents?filename=a.txt&allow_duplicate={text}"
    refused = await post(calls, path, b"words", "text/plain")
    assert refused.status_code == 400
    assert refused.json()["errors"] == [{"field": "allow_duplicate", "description": 'must be "true" or "false"'}]
    assert calls.data == b""

from collections.abc import AsyncIterator

import pytest
from footnote_edge.http.transcoding.forms import read_form
from footnote_kit.errors import InvalidArgument
from starlette.requests import Request

FORM = (
    b'--XX\r\nContent-Disposition: form-data; name="tags"\r\n\r\na,b\r\n'
    b'--XX\r\nContent-Disposition: form-data; name="file"; filename="r\xc3\xa9sum\xc3\xa9.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nfirst\r\n--X not the end\r\nlast\r\n--XX--\r\n"
)
CONTENT = b"first\r\n--X not the end\r\nlast"


def request(body: bytes, size: int) -> Request:
    parts = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    messages = iter(
        [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        + [{"type": "http.request", "body": b"", "more_body": False}]
    )

    async def receive() -> dict[str, object]:
        return next(messages)

    headers = [(b"content-type", b"multipart/form-data; boundary=XX")]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)  # type: ignore[arg-type]


async def joined(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])


@pytest.mark.parametrize("size", range(1, len(FORM) + 1, 7))
async def test_a_form_reads_the_same_however_it_is_cut(size: int) -> None:
    form = await read_form(request(FORM, size))
    assert form.fields == {"tags": ["a,b"]}
    assert form.filename == "résumé.txt"
    assert await joined(form.content) == CONTENT


@pytest.mark.parametrize("end", range(10, len(FORM) - 2, 11))
async def test_a_form_that_breaks_off_is_refused_wherever_it_does(end: int) -> None:
    with pytest.raises(InvalidArgument):
        await joined((await read_form(request(FORM[:end], 16))).content)

"""Footnotes link to where callers reach edge, not to how a proxy reaches it."""

from __future__ import annotations

from typing import Any, cast

import pytest
from footnote_edge.http.dialects.openai import OpenAiApi
from footnote_edge.settings import Settings
from pydantic import ValidationError
from starlette.requests import Request


@pytest.mark.parametrize(
    ("origin", "base"), [("", "http://inner:7180"), ("https://footnote.example.org", "https://footnote.example.org")]
)
def test_links_begin_with_the_public_origin(origin: str, base: str) -> None:
    scope = {"type": "http", "scheme": "http", "path": "/", "headers": [(b"host", b"inner:7180")]}
    api = OpenAiApi(cast(Any, None), Settings(public_origin=origin).public_origin)
    assert api._base(Request(scope)) == base


@pytest.mark.parametrize("wrong", ["footnote.example.org", "https://footnote.example.org/path", "https://a b"])
def test_what_is_no_origin_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError, match="is not an origin"):
        Settings(public_origin=wrong)

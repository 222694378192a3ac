"""A provider on the open web without its key says so instead of being called."""

from __future__ import annotations

import pytest
from footnote_generation.adapters.registrations import models, verifiers
from footnote_generation.ports import ModelRequest
from footnote_generation.registry import Providers
from footnote_generation.settings import Settings
from footnote_kit.errors import FailedPrecondition

KEYS = {
    "openai": "FOOTNOTE_OPENAI_API_KEY",
    "gemini": "FOOTNOTE_GEMINI_API_KEY",
    "anthropic": "FOOTNOTE_ANTHROPIC_API_KEY",
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names a key or an address of a provider."""
    for key in KEYS.values():
        for name in (key, key.replace("API_KEY", "BASE_URL")):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.removeprefix("FOOTNOTE_"), raising=False)


@pytest.mark.parametrize(("provider", "variable"), KEYS.items())
async def test_the_missing_key_is_named(provider: str, variable: str) -> None:
    providers = Providers(Settings(), models(Settings()), verifiers())
    try:
        with pytest.raises(FailedPrecondition, match=variable):
            await anext(providers.get(provider).stream(ModelRequest((), "", (), "en")))
        with pytest.raises(FailedPrecondition, match=variable):
            await providers.get(provider).health()
    finally:
        await providers.close()

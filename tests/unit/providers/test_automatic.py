"""Which embedder new collections begin with."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers import registry
from footnote_providers.e5 import files
from footnote_providers.registry import choose
from footnote_providers.settings import DefaultSettings


@pytest.fixture(autouse=True)
def nobody_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names an embedder."""
    monkeypatch.delenv("FOOTNOTE_EMBEDDING_PROVIDER", raising=False)


@pytest.fixture(params=[True, False], ids=["with the package", "without the package"])
def there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the model's package is installed: yes, then no."""
    monkeypatch.setattr(files, "installed", lambda: request.param)
    there: bool = request.param
    return there


CASES: list[tuple[Mapping[str, object], str, str, str]] = [
    ({}, "e5", "builtin", "by meaning"),
    ({"provider": "auto"}, "e5", "builtin", "by meaning"),
    ({"dimensions": 512}, "builtin", "builtin", "no provider"),
    ({"model": "hash-1"}, "builtin", "builtin", "no provider"),
    ({"provider": "auto", "dimensions": 512}, "builtin", "builtin", "no provider"),
    ({"provider": "auto", "model": "hash-1"}, "builtin", "builtin", "no provider"),
    ({"provider": "builtin"}, "builtin", "builtin", "as FOOTNOTE_EMBEDDING_PROVIDER says"),
    ({"provider": "e5"}, "e5", "e5", "as FOOTNOTE_EMBEDDING_PROVIDER says"),
    ({"provider": "openai", "model": "m"}, "openai", "openai", "by openai"),
]


@pytest.mark.parametrize(("given", "with_it", "without_it", "words"), CASES)
def test_what_new_collections_begin_with(
    there: bool, given: Mapping[str, object], with_it: str, without_it: str, words: str
) -> None:
    choice = choose(DefaultSettings.model_validate(given))
    assert choice.provider == (with_it if there else without_it)
    if there or with_it == without_it:
        assert words in choice.words
    else:
        assert "pip install 'footnote[e5]'" in choice.words
    assert not choice.words.endswith(".")


@pytest.mark.usefixtures("there")
def test_a_policy_that_forbids_e5_leaves_the_built_in() -> None:
    choice = choose(DefaultSettings(provider="auto"), lambda provider: provider != "e5")
    assert choice.provider == "builtin"


@pytest.mark.usefixtures("there")
def test_settings_of_nobody_mean_the_built_in_whatever_is_installed() -> None:
    """A collection from before, and messages, which belong to none, keep what they have."""
    chosen = registry.with_defaults(EmbeddingSettings(), DefaultSettings(provider="auto"))
    assert chosen.provider == "builtin"


def test_nothing_is_called_automatic() -> None:
    assert "auto" not in registry.registrations()
    assert registry.validate("auto", {})

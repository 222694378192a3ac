"""The suite of stores on the embedded engine, by its registration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from footnote_store import testing
from footnote_store.ports import Store
from footnote_store.registry import EMBEDDED, stores
from support.engine import running_engine


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_engine(tmp_path_factory.mktemp("engine")) as address:
        yield address


@pytest.fixture
async def store(uri: str) -> AsyncIterator[Store]:
    store = stores()[EMBEDDED].build(address=uri)
    yield store
    await store.close()


@pytest.mark.parametrize("check", testing.STORE)
async def test_the_embedded_engine_conforms(store: Store, check: Any) -> None:
    await check(store)

"""The suite of stores by their registrations: on the embedded engine, or on the Milvus of `make test-store`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from footnote_store import testing
from footnote_store.ports import Store
from footnote_store.registry import EMBEDDED, SERVER, stores
from support.engine import GIVEN, TOKEN, given_or_running


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an embedded engine, or of the Milvus that `make test-store` names."""
    with given_or_running(tmp_path_factory.mktemp("engine")) as address:
        yield address


@pytest.fixture
async def store(uri: str) -> AsyncIterator[Store]:
    """The store by its registration."""
    store = stores()[SERVER if GIVEN else EMBEDDED].build(address=uri, token=TOKEN)
    yield store
    await store.close()


@pytest.mark.parametrize("check", testing.STORE)
async def test_the_store_conforms(store: Store, check: Any) -> None:
    await check(store)

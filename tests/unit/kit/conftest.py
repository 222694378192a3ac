from collections.abc import Iterator

import pytest
from footnote_kit import context


@pytest.fixture(autouse=True)
def no_call_left_over() -> Iterator[None]:
    """Synchronous tests share one context: what one has bound must not reach the next."""
    yield
    context._scope.set(None)
    context._request_id.set("")
    context.bind_service("")
    context.bind_deadline(None)

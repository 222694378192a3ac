"""What a stub returns for a call, with the epochs in which its response holds, for tests without a server."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from footnote_kit.epochs import COLLECTIONS_EPOCH_KEY, EPOCH_KEY

Response = TypeVar("Response")


class Answered(Generic[Response]):
    """A call that has its response."""

    def __init__(self, response: Response, *, epoch: str = "", collections: str = "") -> None:
        self._response = response
        self._sent = ((EPOCH_KEY, epoch), (COLLECTIONS_EPOCH_KEY, collections))

    def __await__(self) -> Generator[Any, None, Response]:
        yield from ()
        return self._response

    async def trailing_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._sent

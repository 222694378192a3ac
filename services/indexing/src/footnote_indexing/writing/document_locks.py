"""Limits each document to one writer at a time: the engine makes two rows of one id written twice at once."""

import asyncio
from weakref import WeakValueDictionary


class DocumentLocks:
    """A lock for each document that is being written."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, document_id: str) -> asyncio.Lock:
        """Return the document's lock."""
        return self._locks.setdefault(document_id, asyncio.Lock())

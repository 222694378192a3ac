"""Limits on what a collection and a tenant may store, and the error that says how to raise them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from footnote_kit.errors import ResourceExhausted


@dataclass(frozen=True, slots=True)
class Used:
    """What is stored: a collection's documents, and the tenant's documents and bytes of files."""

    collection_documents: int = 0
    tenant_documents: int = 0
    tenant_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """Documents of one owner, or of all for "", and the bytes of their files."""

    owner_id: str
    documents: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits, 0 for none; `own` means that the collection's limit is its own, not the deployment's."""

    collection_documents: int = 0
    tenant_documents: int = 0
    tenant_bytes: int = 0
    own: bool = False

    @property
    def of_tenant(self) -> bool:
        """Whether the tenant is limited as a whole."""
        return bool(self.tenant_documents or self.tenant_bytes)

    def check(self, used: Used, tenant_id: str, documents: int, size: int) -> None:
        """Raise `ResourceExhausted` when this many more documents and bytes exceed a limit.

        What the tenant stores is not said: it counts collections that are hidden from the caller.
        """
        if documents and self.collection_documents and used.collection_documents >= self.collection_documents:
            raise _refusal(
                "collection_documents",
                self.collection_documents,
                f"The collection holds {used.collection_documents} documents; at most {self.collection_documents} "
                "are allowed",
                f"raise its limit: footnote collections update NAME --set max_documents={2 * self.collection_documents}"
                if self.own
                else "raise FOOTNOTE_INGESTION_MAX_DOCUMENTS where ingestion runs, or this collection's own limit: "
                f"footnote collections update NAME --set max_documents={2 * self.collection_documents}",
            )
        tenant = shlex.quote(tenant_id)
        if documents and self.tenant_documents and used.tenant_documents >= self.tenant_documents:
            raise _refusal(
                "tenant_documents",
                self.tenant_documents,
                f"Your collections may hold no more than {self.tenant_documents} documents",
                f"have the operator allow more: footnote limits set {tenant} --documents {2 * self.tenant_documents}",
            )
        if size > 0 and self.tenant_bytes and used.tenant_bytes + size > self.tenant_bytes:
            raise _refusal(
                "tenant_bytes",
                self.tenant_bytes,
                f"With {size} bytes more, your files would be over the {self.tenant_bytes} allowed",
                f"have the operator allow more: footnote limits set {tenant} --bytes {2 * self.tenant_bytes}",
            )


class Room:
    """What a quota leaves, counted down as files are added; `used` is None where nothing is limited."""

    def __init__(self, quota: Quota, tenant_id: str, used: Used | None) -> None:
        self._quota = quota
        self._tenant_id = tenant_id
        self._used = used

    def check(self, size: int) -> None:
        """Raise `ResourceExhausted` when one more document of `size` bytes has no room."""
        if self._used is not None:
            self._quota.check(self._used, self._tenant_id, 1, size)

    def take(self, size: int) -> None:
        """Count one more document of `size` bytes; raises `ResourceExhausted`, and counts nothing, without room."""
        self.check(size)
        if (used := self._used) is not None:
            self._used = Used(used.collection_documents + 1, used.tenant_documents + 1, used.tenant_bytes + size)


def _refusal(name: str, limit: int, message: str, advice: str) -> ResourceExhausted:
    metadata = {"quota": name, "limit": str(limit), "hint": f"Delete documents, or {advice}"}
    return ResourceExhausted(message, metadata=metadata)

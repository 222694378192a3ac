"""The port of sources: the interface between a kind of source and the engine.

A kind lists items with their versions and fetches one at a time. The engine does everything else: comparison, moves,
deletions, retries, documents. Other packages register a `SourceKind` by the entry point group `footnote.sources`;
`footnote_edge.sources.testing` is the conformance suite for all kinds.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from footnote_edge.sources.policy import Policy

LONGEST_ID = 2048
"""Maximum characters of an item's id, name or address; longer ones are left out with a warning."""

REASONS = (
    "AWAY", "REFUSED", "GONE", "TOO_LARGE", "EMPTY", "UNSUPPORTED", "ROBOTS", "ADDRESS", "QUOTA", "NOT_INDEXED",
    "INVALID",
)  # fmt: skip
"""Reasons why an item fails or is left out, for `SourceItem.reason`."""


class NoSettings(BaseModel):
    """No settings, or no secrets."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Permissions:
    """An item's readers according to the source. Stored and shown; the collection's own rules decide.

    A deployment that maps them to grants reads them from ListSourceItems.
    """

    owner: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """An object in a source that becomes one document."""

    id: str
    """The source's own id: stable, 1 to 2048 characters."""
    version: str
    """A new version means that the content may differ; "" is unknown, and the content is fetched each time."""
    name: str
    """File name of the document, with the suffix of its format."""
    size: int | None = None
    """Bytes that `fetch` will yield, if the source knows."""
    address: str = ""
    """Address for people."""
    memo: Mapping[str, Any] = field(default_factory=dict)
    """The kind's own notes for the next listing: JSON of at most 64 KiB."""
    permissions: Permissions | None = None
    body: bytes | None = None
    """The content, if the listing had to read it: then it is not fetched again."""
    skip: "ItemFailed | None" = None
    """The reason not to fetch an existing item."""


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a listing."""

    items: Sequence[Item] = ()
    cursor: str = ""
    """Where to resume after a crash; "" for the beginning."""
    partial: str = ""
    """Reason why the listing is incomplete, a sentence: then nothing is deleted."""
    keeps_others: bool = False
    """Earlier items missing from the listing stay: a feed shows only its newest entries."""
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """The stored state of an item: the version last listed, and the kind's memo."""

    version: str
    memo: Mapping[str, Any]


Remember = Callable[[Sequence[str]], Awaitable[Mapping[str, Known]]]
"""Returns the stored state of items by id; items never listed are missing."""


class Connection(Protocol):
    """One source, opened for one run."""

    def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the items, from a cursor on; raises SourceUnavailable or SourceRefused.

        A listing that ends without an exception and without `partial` is complete.
        """

    def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield the content of a listed item in parts; raises ItemFailed, ItemGone, SourceUnavailable or SourceRefused.

        `item` has the last listing's values, its memo included, but no body. Several fetches may run concurrently.
        """

    async def close(self) -> None:
        """Release connections and files."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Inputs of a connection: checked settings, secrets, and the operator's limits."""

    settings: Any
    secrets: Any
    tenant_id: str
    folder: Path
    """A cache folder of the source's own. It may be emptied at any time."""
    policy: Policy
    was_in_step: bool = True
    """Whether the source has ever been in step, so that it may have documents."""


class Watch(Protocol):
    """Notices changes of one source between its scheduled runs. Both methods are called in worker threads."""

    def works(self) -> bool:
        """Return whether changes are still noticed; if not, the watch is closed and opened again."""

    def close(self) -> None:
        """Stop watching."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source. `open` opens no connection; it raises InvalidArgument for problems visible in the settings.

    It is called in a worker thread, so that a kind may load its library there, when it is first used.
    """

    id: str
    display_name: str
    settings: type[BaseModel]
    open: Callable[[Opening], Connection]
    secrets: type[BaseModel] = NoSettings
    content_versions: bool = False
    """Equal versions mean equal bytes, even across items: moves are detected without fetching."""
    watch: Callable[[Opening, Callable[[], None]], Watch] | None = None
    """Watches a source, and calls the function after each change, in any thread. None: the schedule finds changes.

    Called in a worker thread. Raises SourceUnavailable if the source cannot be watched; the schedule still finds
    changes.
    """


class SourceUnavailable(Exception):
    """The source is unavailable, or broke off. The message is shown."""


class SourceRefused(Exception):
    """The source, or the operator's rules, refuse the request: it is retried, but a person has to act."""


class ItemFailed(Exception):
    """An item cannot be fetched. `permanent`: it is left out until its version changes, else retried."""

    def __init__(self, reason: str, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        assert reason in REASONS, reason
        self.reason = reason
        self.permanent = permanent


class ItemGone(ItemFailed):
    """A listed item no longer exists."""

    def __init__(self, message: str = "It was deleted after it was listed.") -> None:
        super().__init__("GONE", message)

"""The port of sources: what a kind of source gives to the engine, and what the engine promises it.

A kind lists items with their versions and fetches one at a time. Everything else is the engine's: comparing with what
is known, moves, deletions, retries, documents. Packages of others register a `SourceKind` by the entry point group
`footnote.sources`; `footnote_edge.sources.testing` is the suite that theirs and ours must pass.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from footnote_edge.sources.policy import Policy

LONGEST_ID = 2048
"""Characters of an item's id, name or address; longer ones are left out with a warning."""

REASONS = (
    "AWAY", "REFUSED", "GONE", "TOO_LARGE", "EMPTY", "UNSUPPORTED", "ROBOTS", "ADDRESS", "QUOTA", "NOT_INDEXED",
    "INVALID",
)  # fmt: skip
"""Why an item fails or is left out, as `SourceItem.reason` has it."""


class NoSettings(BaseModel):
    """There is nothing to set, or no secret."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Permissions:
    """Who may read an item, as the source says. Kept and shown; the collection's own rules decide.

    A deployment that maps them to grants reads them from ListSourceItems.
    """

    owner: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """Something in a source that becomes one document."""

    id: str
    """What the source calls it: stable, 1 to 2048 characters."""
    version: str
    """Another one means that the content may differ; "" is unknown, and the content is fetched each time."""
    name: str
    """File name of the document, with the suffix that tells its format."""
    size: int | None = None
    """Bytes that `fetch` will give, where the source says so."""
    address: str = ""
    """Where people find it."""
    memo: Mapping[str, Any] = field(default_factory=dict)
    """What the kind wants to know of it at the next listing: JSON of at most 64 KiB."""
    permissions: Permissions | None = None
    body: bytes | None = None
    """Its content, where listing had to read it: it is not fetched again then."""
    skip: "ItemFailed | None" = None
    """Why it is not to be fetched, although it is there."""


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a listing."""

    items: Sequence[Item] = ()
    cursor: str = ""
    """Where to go on after a crash; "" where that is the beginning."""
    partial: str = ""
    """Why the listing does not show everything that is there, a sentence: then nothing is deleted."""
    keeps_others: bool = False
    """What was listed before and is not shown now stays: a feed shows its newest entries only."""
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an item from earlier: the version last listed, and the kind's memo."""

    version: str
    memo: Mapping[str, Any]


Remember = Callable[[Sequence[str]], Awaitable[Mapping[str, Known]]]
"""Tells what is known of items, by their ids; of those that were never listed nothing."""


class Connection(Protocol):
    """One source, opened for one run."""

    def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield what is there, from a cursor on; raises SourceAway or SourceRefused.

        Whoever returns without an exception and without `partial` says that all was shown.
        """

    def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield the content of a listed item in parts; raises ItemFailed, ItemGone, SourceAway or SourceRefused.

        `item` has what the last listing said, its memo too, but not its body. Several may be fetched at once.
        """

    async def close(self) -> None:
        """Let go of connections and files."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a connection is opened with: checked settings, secrets, and the operator's limits."""

    settings: Any
    secrets: Any
    tenant_id: str
    folder: Path
    """A folder of the source's own for caches. It may be empty at any time."""
    policy: Policy


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source. `open` does no input or output; problems that settings alone show are its InvalidArgument."""

    id: str
    display_name: str
    settings: type[BaseModel]
    open: Callable[[Opening], Connection]
    secrets: type[BaseModel] = NoSettings
    content_versions: bool = False
    """Equal versions mean equal bytes, whatever the items are called: moves are seen without fetching."""


class SourceAway(Exception):
    """The source does not answer now, or broke off. The message is shown."""


class SourceRefused(Exception):
    """The source, or the operator's rules, refuse what is asked: it is tried again, but somebody has to act."""


class ItemFailed(Exception):
    """An item cannot be fetched. `permanent`: it is left out until its version changes, else tried again."""

    def __init__(self, reason: str, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        assert reason in REASONS, reason
        self.reason = reason
        self.permanent = permanent


class ItemGone(ItemFailed):
    """An item that was listed is no longer there."""

    def __init__(self, message: str = "It was deleted after it was listed.") -> None:
        super().__init__("GONE", message)

"""The available chunkers: built-in ones from the folder `strategies`, others from entry points."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module

from footnote.types.v1 import chunk_pb2, collection_pb2
from footnote_kit import plugins
from footnote_kit.errors import InvalidArgument

from footnote_indexing.chunking import strategies
from footnote_indexing.chunking.guard import Guarded
from footnote_indexing.chunking.model import Chunker, Cut, PlacedBlock, SentenceVectors, Sizes
from footnote_indexing.chunking.registration import Registration, Tools

ENTRY_POINT_GROUP = "footnote.chunkers"
NAMED = collection_pb2.CHUNKING_STRATEGY_NAMED
_PREFIX = "CHUNKING_STRATEGY_"
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@cache
def ours() -> dict[str, Registration]:
    """Return the built-in chunkers by id; a strategy of the contract has its name in lower case."""
    modules = [import_module(f"{strategies.__name__}.{one.name}") for one in pkgutil.iter_modules(strategies.__path__)]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Registration)]
    return {one.id: one for one in found}


@cache
def others() -> dict[str, Registration]:
    """Return the chunkers of other packages by id."""
    return plugins.installed(ENTRY_POINT_GROUP, Registration, lambda one: one.id, ours(), _wrong)


def _wrong(one: Registration) -> str:
    if not _ID.fullmatch(one.id):
        return "its id is not 1 to 64 lower-case letters, digits, '_' or '-'"
    return "" if one.children in ours() else f"no chunker of ours is {one.children!r}, which its children want"


def check(settings: collection_pb2.ChunkingSettings) -> None:
    """Raise InvalidArgument for an unknown chunker, or a missing name where one is required."""
    known = {**ours(), **others()}
    if (settings.chunker or settings.strategy == NAMED) and settings.chunker not in known:
        names = ", ".join(sorted(known))
        raise InvalidArgument.field("collection.settings.chunking.chunker", f"must be one of {names}")


def chosen(
    strategy: collection_pb2.ChunkingStrategy.ValueType, settings: collection_pb2.ChunkingSettings
) -> Registration:
    """Return the chunker of a strategy (not AUTO); raises InvalidArgument for a named one that is not installed."""
    if strategy != NAMED:
        return ours()[collection_pb2.ChunkingStrategy.Name(strategy).removeprefix(_PREFIX).lower()]
    check(settings)
    return ours().get(settings.chunker) or others()[settings.chunker]


def needs_vectors(settings: collection_pb2.ChunkingSettings) -> bool:
    """Return whether cutting needs sentence vectors."""
    auto = settings.strategy == collection_pb2.CHUNKING_STRATEGY_AUTO  # AUTO never chooses such a chunker
    return not auto and chosen(settings.strategy, settings).needs_vectors


def _made(registration: Registration, sizes: Sizes, tools: Tools) -> Chunker:
    """Return a new chunker; one of another package is guarded."""
    if registration.id in ours():
        return registration.make(sizes, tools)
    return Guarded(registration, sizes, tools)


class ParentChild:
    """Cuts parents with one chunker and each parent's text with another; a parent comes before its children."""

    def __init__(self, parents: Chunker, make_children: Callable[[], Chunker]) -> None:
        self.strategy = parents.strategy
        self._parents = parents
        self._make_children = make_children
        self._blocks: list[PlacedBlock] = []

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        blocks = list(blocks)
        self._blocks += blocks
        return self._divide(self._parents.feed(blocks))

    def finish(self) -> list[Cut]:
        """Return the rest."""
        return self._divide(self._parents.finish())

    def _divide(self, parents: list[Cut]) -> list[Cut]:
        cuts: list[Cut] = []
        for parent in parents:
            inside = [block for block in self._blocks if block.end > parent.start and block.start < parent.end]
            chunker = self._make_children()
            children = chunker.feed([block.clip(parent.start, parent.end) for block in inside]) + chunker.finish()
            place = (parent.start, parent.end)
            cuts.append(Cut(*place, chunk_pb2.CHUNK_LEVEL_PARENT))
            cuts += [Cut(child.start, child.end, chunk_pb2.CHUNK_LEVEL_CHILD, place) for child in children]
            self._blocks = [block for block in self._blocks if block.end > parent.start]
        return cuts


def make_chunker(
    strategy: collection_pb2.ChunkingStrategy.ValueType,
    settings: collection_pb2.ChunkingSettings,
    sentence_vectors: SentenceVectors,
) -> Chunker:
    """Return the chunker of a strategy (not AUTO) with settings whose defaults are filled in.

    Raises InvalidArgument for a named chunker that is not installed.
    """
    in_tokens, tools = settings.unit == collection_pb2.SIZE_UNIT_TOKENS, Tools(settings, sentence_vectors)
    registration = chosen(strategy, settings)

    def sized(limit: int, overlap_percent: int) -> Sizes:
        return Sizes(limit, limit * overlap_percent // 100, in_tokens)

    if not settings.parent_child:
        return _made(registration, sized(settings.size, settings.overlap_percent), tools)
    parents = _made(registration, sized(settings.parent_size, 0), tools)
    # A parent has no structure left inside: its paragraphs or rows are only packed into children.
    children = sized(settings.child_size, settings.overlap_percent)
    return ParentChild(parents, lambda: ours()[registration.children].make(children, tools))

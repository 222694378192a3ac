"""What to search for, in which groups, under which filter, and which of the filter's fields nothing has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.chunk_pb2 import SEARCH_CHANNEL_LEXICAL, SearchChannel
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.errors import FootnoteError
from footnote_store.expr import fields_of
from footnote_store.fields import is_given
from footnote_store.filters import ALL, And, Exists, Expr, any_of, both, compile_expr, conjunction

from footnote_retrieval.model import Group, SearchRequest, degradation
from footnote_retrieval.ports import ChunkStore
from footnote_retrieval.query.files import NamedFile


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search for, in which groups, under which filter."""

    text: str
    lexical_query: str
    groups: Sequence[Group]
    filter: str
    limit: int
    dense: bool
    lexical: bool
    now: float
    scope: Scope
    query_vector: tuple[float, ...] = ()
    by_words: frozenset[bytes] = frozenset()
    """Embedding keys of groups with own vectors, which are searched by words only."""
    bounds: TextBounds = field(default_factory=TextBounds)
    """Bounds on the query text besides those of the collections searched."""

    def groups_of(self, channel: SearchChannel.ValueType) -> Sequence[Group]:
        """Return the groups that a channel searches."""
        if channel == SEARCH_CHANNEL_LEXICAL or not self.by_words:
            return self.groups
        return [group for group in self.groups if group.embedding_key not in self.by_words]


def filter_of(request: SearchRequest, files: Sequence[NamedFile]) -> str:
    """Return the filter of the request; files named in the question restrict it to themselves."""
    documents = any_of("document_id", request.document_ids)
    if files:
        documents = any_of("document_id", [document for file in files for document in file.document_ids])
    expr = both(request.where, documents)
    return compile_expr(expr if expr != ALL else And(()))


def bounds_of(collections: Sequence[Collection]) -> TextBounds:
    """Return the bounds on a question to these collections: the strictest of theirs."""
    kept = [collection.name for collection in collections if collection.settings.local_only]
    return TextBounds(
        local_only=bool(kept),
        because=f"the collection {', '.join(map(repr, kept[:3]))}" if kept else "",
        collections=[name for collection in collections for name in (collection.name, collection.id)],
    )


_MOST = 16
"""Maximum number of names checked; a program wrote any filter with more."""


async def unknown_fields(
    where: Expr, groups: Sequence[Group], store: ChunkStore, now: float, timeout: float
) -> list[Degradation]:
    """Return a warning for names that are neither a field nor a metadata key of a chunk; none without an answer."""
    names = sorted(name for name in fields_of(where) if not is_given(name))[:_MOST] if where != ALL else []
    if not names:
        return []
    try:
        there = await asyncio.gather(*(_any(name, groups, store, now, timeout) for name in names))
    except FootnoteError:
        return []  # the search reports the store's failure
    unknown = [name for name, found in zip(names, there, strict=True) if not found]
    if not unknown:
        return []
    listed = ", ".join(f"'{name}'" for name in unknown)
    return [degradation("FILTER_FIELD_UNKNOWN", f"No document searched has what the filter asks of: {listed}.", listed)]


async def _any(name: str, groups: Sequence[Group], store: ChunkStore, now: float, timeout: float) -> bool:
    exists = compile_expr(Exists(name))
    for group in groups:
        if await store.read(group.space, conjunction([group.scope(now).rows(), exists]), 1, 0, timeout):
            return True
    return False

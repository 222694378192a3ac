"""Vectors from callers: whether a search may use its own, and how to search collections that need one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.collection_pb2 import SearchStrategy
from footnote_kit.errors import InvalidArgument
from footnote_providers.own_vectors import brings_own, no_query

from footnote_retrieval.model import Group, SearchRequest, degradation

_FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
_NAMED = 3


def check_request(request: SearchRequest) -> None:
    """Raise InvalidArgument for a search without words and vector, or with a vector that would have no effect."""
    if not request.query_vector:
        if not request.query.strip():
            raise InvalidArgument.field("query", "is required, unless a query_vector is given")
        return
    if request.settings.strategy == _FULLTEXT:
        raise InvalidArgument.field("query_vector", "has no effect with the strategy FULLTEXT: leave one of them out")
    vector = np.asarray(request.query_vector, dtype=np.float32)
    if not np.isfinite(vector).all() or not vector.any():
        raise InvalidArgument.field("query_vector", "must be finite numbers, not all of them 0")


def check_lengths(request: SearchRequest, groups: Sequence[Group]) -> None:
    """Raise InvalidArgument(DIMENSION_MISMATCH) unless the caller's vector fits every collection."""
    given = len(request.query_vector)
    for group in groups if given else ():
        if group.dimensions != given:
            name = group.members[0].collection.name
            hint = "" if request.collections else "; name the collections that it is for"
            raise InvalidArgument(
                f"query_vector has {given} dimensions, collection '{name}' holds vectors of {group.dimensions}{hint}",
                reason="DIMENSION_MISMATCH",
                metadata={"collection": name, "expected": str(group.dimensions), "given": str(given)},
                violations=[("query_vector", f"must have {group.dimensions} numbers")],
            )


def needing(request: SearchRequest, groups: Sequence[Group]) -> list[Group]:
    """Return the groups that this request can search only by words: they bring their own vectors."""
    return [] if request.query_vector else [group for group in groups if brings_own(group.embedding)]


def check_named(request: SearchRequest, strategy: SearchStrategy.ValueType, groups: Sequence[Group]) -> None:
    """Raise InvalidArgument(OWN_VECTORS) if a named collection has no embedder for a text."""
    lacking = needing(request, groups)
    named = request.collections and not request.every_collection
    if lacking and named and strategy != _FULLTEXT:
        raise no_query(lacking[0].members[0].collection.name)


def by_words_only(lacking: Sequence[Group], *, searched: bool) -> Degradation:
    """Warn which of the caller's collections were searched by words only, or not at all."""
    names = [member.collection.name for group in lacking for member in group.members]
    listed = ", ".join(map(repr, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
    effect = (
        "Collections that bring their own vectors were searched by words only."
        if searched
        else "Collections that bring their own vectors were not searched."
    )
    return degradation("OWN_VECTORS", effect, f"{listed}: name them and give query_vector")

"""Warns of filter fields that no chunk of the searched collections has: most are misspelt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from footnote.types.v1.answer_pb2 import Degradation
from footnote_kit.errors import FootnoteError
from footnote_store.expr import fields_of
from footnote_store.fields import is_given
from footnote_store.filters import ALL, Exists, Expr, compile_expr, conjunction

from footnote_retrieval.model import Group, degradation
from footnote_retrieval.ports import ChunkStore

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

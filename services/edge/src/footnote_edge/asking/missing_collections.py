"""Filters a conversation's collections: a deleted one must not end the conversation."""

import asyncio
from collections.abc import Sequence

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote_kit.errors import FootnoteError, NotFound

from footnote_edge.asking.answering import QuestionTimings
from footnote_edge.collections.bounds import Bounds


async def still_there(finder: Bounds, scope: Scope, names: Sequence[str], ledger: QuestionTimings) -> list[str]:
    """Return the collections that exist and are visible to the caller; reports missing ones.

    Returns all of them while they cannot be looked up.
    """
    try:
        await finder.find(scope, names)
    except NotFound:
        pass
    except FootnoteError:
        return list(names)
    else:
        return list(names)
    looks = await asyncio.gather(*(finder.find(scope, [name]) for name in names), return_exceptions=True)
    left = [name for name, look in zip(names, looks, strict=True) if not isinstance(look, NotFound)]
    effect = "Collections of this conversation that are gone were left out."
    if not left:
        effect = "No collection of this conversation is there any more: name others, or begin a new one."
    ledger.degrade(PIPELINE_STAGE_EDGE, "COLLECTION_GONE", effect)
    return left

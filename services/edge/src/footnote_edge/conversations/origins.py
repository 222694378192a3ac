"""The documents that messages derive from, directly or through earlier messages, and their removal from answers."""

import hashlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1 import answer_pb2 as answers
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED, PIPELINE_STAGE_EDGE, Source
from footnote_kit.degradations import degradation


class Origin(NamedTuple):
    """A document that a text derives from; an empty id means unknown."""

    collection_id: str
    document_id: str
    revision: int = 0


def of_sources(sources: Iterable[Source]) -> set[Origin]:
    """Return the documents that sources quote."""
    return {Origin(one.collection_id, one.document_id, one.revision) for one in sources}


def shown(origins: Iterable[Origin]) -> list[answers.Origin]:
    """Return origins as the contract has them."""
    return [answers.Origin(**one._asdict()) for one in sorted(origins)]


def hash_of(text: str) -> str:
    """Return the hash that identifies an answer's text."""
    return hashlib.sha256(text.strip().encode(errors="replace")).hexdigest()


_EFFECT = "This answer was removed: a document that it used was deleted."


def without(message: ConversationMessage, ids: Collection[str]) -> ConversationMessage:
    """Return an answer without its words and without sources of the given documents or collections.

    Its manifest still lists them, by ids and hashes alone.
    """
    left = ConversationMessage()
    left.CopyFrom(message)
    wordless(left)
    made_of = {*left.manifest.collection_ids, *(one.collection_id for one in left.manifest.origins)}
    if not made_of.isdisjoint(ids):
        without_prompt(left)
    left.ClearField("sources")
    left.sources.extend(one for one in message.sources if not {one.document_id, one.collection_id} & set(ids))
    if not any(one.reason == DEGRADATION_REASON_DOCUMENT_DELETED for one in left.degradations):
        left.degradations.append(degradation(PIPELINE_STAGE_EDGE, "DOCUMENT_DELETED", _EFFECT))
    return left


def wordless(message: ConversationMessage) -> None:
    """Remove all words of an answer that may quote its origins; those of its question stay."""
    message.text = message.answer.text = ""
    for field in ("citations", "nearest", "claims", "reliability", "warnings", "computation"):
        message.answer.ClearField(field)
    for name in ("query", "full_question", "history", "table_query", "table_words", "withheld_text"):
        message.manifest.ClearField(name)


def without_prompt(message: ConversationMessage) -> None:
    """Remove the system prompt of the answer's collections, one of which is deleted or unreadable."""
    if message.manifest.HasField("prompt"):
        message.manifest.prompt.ClearField("system_prompt")

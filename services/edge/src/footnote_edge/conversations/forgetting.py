"""Takes words and sources of deleted documents out of answers."""

from collections.abc import Collection

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED, PIPELINE_STAGE_EDGE
from footnote_kit.degradations import degradation

_EFFECT = "This answer was taken out: a document that it was made of was deleted since."


def without(message: ConversationMessage, ids: Collection[str]) -> ConversationMessage:
    """Return an answer without its words and without sources of the given documents or collections.

    Its manifest still lists them, by ids and hashes alone.
    """
    left = ConversationMessage()
    left.CopyFrom(message)
    wordless(left)
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
    for name in ("query", "full_question", "history", "table_query", "table_words"):
        message.manifest.ClearField(name)

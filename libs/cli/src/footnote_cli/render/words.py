"""Texts for values of the contract."""

from datetime import UTC

from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1 import document_pb2
from footnote.types.v1.collection_pb2 import ChunkingStrategy
from footnote_text.locators import label

_WAITING = {
    document_pb2.WAITING_REASON_INGESTION_UNAVAILABLE: "ingestion unavailable",
    document_pb2.WAITING_REASON_INDEXING_UNAVAILABLE: "indexing unavailable",
    document_pb2.WAITING_REASON_STORE_UNAVAILABLE: "vector store unavailable",
    document_pb2.WAITING_REASON_PROVIDER_UNAVAILABLE: "embedding provider unavailable",
    document_pb2.WAITING_REASON_PROVIDER_REFUSED: "embedding provider refuses",
    document_pb2.WAITING_REASON_DATABASE_UNAVAILABLE: "database unavailable",
    document_pb2.WAITING_REASON_DISK_FULL: "disk full",
    document_pb2.WAITING_REASON_PARSER_KILLED: "parser killed by the system",
}
_CHOICES = {
    document_pb2.CHUNKING_CHOICE_CONFIGURED: "as the collection sets it",
    document_pb2.CHUNKING_CHOICE_TABLE_FOUND: "mostly table rows",
    document_pb2.CHUNKING_CHOICE_HEADINGS_FOUND: "it has headings",
    document_pb2.CHUNKING_CHOICE_PARAGRAPHS_FOUND: "it has paragraphs",
    document_pb2.CHUNKING_CHOICE_NO_STRUCTURE: "text without structure",
}


def waiting(document: Document) -> str:
    """Return what a document waits for, "" if nothing."""
    reason = document.waiting_reason
    return _WAITING.get(reason, "a part of the service") if reason else ""


def waiting_in_full(document: Document) -> str:
    """Return the reason for waiting with the number of attempts and the next time; "" if nothing is waited for."""
    parts = [waiting(document)] if document.waiting_reason else []
    if parts and document.waiting_message:
        parts.append(document.waiting_message)
    if parts and document.waiting_attempts:
        parts.append(f"tried {document.waiting_attempts} times")
    if parts and document.HasField("next_attempt_time"):
        parts.append(f"next at {document.next_attempt_time.ToDatetime(UTC):%H:%M:%S} UTC")
    return "; ".join(parts)


def strategy(value: ChunkingStrategy.ValueType) -> str:
    """Return the chunking strategy, such as "heading section", "" if unknown."""
    if value not in ChunkingStrategy.values() or not value:
        return ""
    return ChunkingStrategy.Name(value).removeprefix("CHUNKING_STRATEGY_").lower().replace("_", " ")


def cut_by(document: Document) -> str:
    """Return a document's chunking strategy with its reason."""
    why = _CHOICES.get(document.chunking_choice, "")
    return strategy(document.chunking_strategy) + (f": {why}" if why else "")


def noticed(document: Document) -> str:
    """Return a document's parsing warnings, a line each, with the first places: "… (page 2, page 5)"."""
    return "\n".join(_with_places(one) for one in document.warnings)


def replacement(document: Document) -> str:
    """Return a note about a newer file that searches do not see; "" if there is none."""
    if not document.HasField("replacement"):
        return ""
    waiting = document.replacement
    return f"revision {document.revision}, {waiting.filename}, is not searched; revision {document.indexed_revision} is"


def _with_places(warning: document_pb2.ReadingWarning) -> str:
    places = [words for place in warning.places if (words := label("", place).lstrip(", "))]
    more = ", …" if places and warning.count > len(places) else ""
    return warning.text + (f" ({', '.join(places)}{more})" if places else "")

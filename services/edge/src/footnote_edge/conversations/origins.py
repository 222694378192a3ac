"""The documents that messages derive from, directly or through earlier messages."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from footnote.types.v1 import answer_pb2 as answers
from footnote.types.v1.answer_pb2 import Source


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

"""Guarantees each of several files named in the question its best chunk in the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_FILE_NAMED

from footnote_retrieval.model import Candidate
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.ranking.adjust import order


def guarantee_files(ranked: list[Candidate], files: Sequence[NamedFile], wanted: int) -> list[Candidate]:
    """Put the best chunk of each named file among the first `wanted`, best first otherwise."""
    if len(files) < 2 or wanted < 2:
        return ranked
    owner = {document_id: index for index, file in enumerate(files) for document_id in file.document_ids}
    best: dict[int, Candidate] = {}
    for candidate in ranked:
        index = owner.get(candidate.hit.document_id)
        if index is not None:
            best.setdefault(index, candidate)
    guaranteed = list(best.values())[:wanted]
    head = ranked[:wanted]
    missing = [candidate for candidate in guaranteed if not any(candidate is c for c in head)]
    for candidate in missing:
        # The weakest chunk that is not some file's only one makes room.
        for index in range(len(head) - 1, -1, -1):
            if not any(head[index] is g for g in guaranteed):
                del head[index]
                break
        candidate.adjust(SCORE_ADJUSTMENT_KIND_FILE_NAMED, 0.0)
        head.append(candidate)
    order(head)
    chosen = {id(candidate) for candidate in head}
    return head + [candidate for candidate in ranked if id(candidate) not in chosen]


def found(named: Sequence[NamedFile], document_ids: Iterable[str]) -> list[str]:
    """Return, for each named file in order, its first document among these."""
    owner = {document_id: index for index, file in enumerate(named) for document_id in file.document_ids}
    first: dict[int, str] = {}
    for document_id in document_ids:
        if document_id in owner:
            first.setdefault(owner[document_id], document_id)
    return [first[index] for index in sorted(first)]

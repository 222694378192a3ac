"""Drops passages that say nearly the same as a better one."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE
from footnote_text.near_duplicates import Originals, alike, words_of

from footnote_retrieval.model import Candidate
from footnote_retrieval.query.files import NamedFile

_SHORT = 8  # words; shorter passages count as repetitions only if equal
_MOST = 100  # repetitions that a passage names
_LOOKED_AT = 100  # candidates after the last wanted one that may repeat one before


def without_repetitions(
    candidates: Sequence[Candidate], wanted: int, threshold: float, named: Sequence[NamedFile] = ()
) -> list[Candidate]:
    """Return the first `wanted` candidates without near repetitions of earlier ones, which name these.

    The passages themselves are compared, not the titles above them: one clause in six contracts is one result. Of
    several `named` files none repeats another.
    """
    originals: Originals[Candidate] = Originals(alike(threshold), _SHORT, threshold)
    several = named if len(named) > 1 else ()
    file_of = {document_id: at for at, file in enumerate(several) for document_id in file.document_ids}

    def look(candidate: Candidate, *, keep: bool) -> None:
        file = file_of.get(candidate.hit.document_id)
        original = originals.of(
            candidate, words_of(candidate.hit.text), lambda one: file_of.get(one.hit.document_id) == file, keep=keep
        )
        if original is not None and len(original.repetitions) < _MOST:
            original.repetitions.append(candidate.hit)
            original.adjust(SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE, 0.0, candidate.hit.id)

    looked_at = 0
    while looked_at < len(candidates) and len(originals) < wanted:
        look(candidates[looked_at], keep=True)
        looked_at += 1
    others = candidates[looked_at : looked_at + _LOOKED_AT]
    for place in originals.possible([candidate.hit.text for candidate in others]):
        look(others[place], keep=False)
    return originals.kept

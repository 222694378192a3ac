"""The model's vocabulary for sentencepiece, which keeps its 250,002 pieces in a fifth of the memory of `tokenizers`.

Pieces, scores and ids are the weights file's. Texts are normalised here: sentencepiece would need the replacement
table in a form of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from footnote_providers.e5.weights import Vocabulary
from footnote_providers.onnx_local import OVERLAP

# The model's replacement table beyond NFKC; checked against all of its 4 837 entries.
_REMOVED = re.compile(r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES = re.compile(r"[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")
_BLANKS = re.compile(" {2,}")
_UNIGRAM = 1
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3  # types of pieces


def write(vocabulary: Vocabulary, path: Path) -> None:
    """Write the vocabulary as a sentencepiece model."""
    special = {vocabulary.start: _CONTROL, vocabulary.end: _CONTROL, vocabulary.padding: _CONTROL}
    kinds = {**special, len(vocabulary.pieces) - 1: _CONTROL, vocabulary.unknown: _UNKNOWN}  # the last is "<mask>"
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made as it is imported
    for number, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True)):
        model.pieces.add(piece=piece, score=float(score), type=kinds.get(number, _NORMAL))
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type, trainer.vocab_size = _UNIGRAM, len(vocabulary.pieces)
    trainer.unk_id, trainer.unk_piece = vocabulary.unknown, vocabulary.pieces[vocabulary.unknown]
    trainer.bos_id, trainer.bos_piece = vocabulary.start, vocabulary.pieces[vocabulary.start]
    trainer.eos_id, trainer.eos_piece = vocabulary.end, vocabulary.pieces[vocabulary.end]
    trainer.pad_id, trainer.pad_piece = vocabulary.padding, vocabulary.pieces[vocabulary.padding]
    normalizer.name, normalizer.remove_extra_whitespaces = "identity", False
    path.write_bytes(model.SerializeToString())


class Pieces:
    """Splits texts into the model's pieces."""

    def __init__(self, file: Path, most: int) -> None:
        self._model = SentencePieceProcessor(model_file=str(file))
        self._start, self._end = self._model.bos_id(), self._model.eos_id()
        self._room, self._step = most - 2, most - 2 - most // OVERLAP

    def windows(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """Return each text's ids in overlapping windows, each between the tokens of start and end."""
        return [self._divided(ids) for ids in self._model.encode([normalised(text) for text in texts], num_threads=1)]

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of a text."""
        found: list[str] = self._model.encode(normalised(text), out_type=str)
        return found

    def _divided(self, ids: list[int]) -> list[list[int]]:
        starts = range(0, max(len(ids) - self._room + self._step, 1), self._step)
        return [[self._start, *ids[at : at + self._room], self._end] for at in starts]


def normalised(text: str) -> str:
    """Return a text as the model was trained to see it; a single space at its start is the model's own."""
    spaced = _SPACES.sub(" ", _REMOVED.sub("", text))
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", spaced)).removeprefix(" ")

"""Writes the vocabulary as a tokenizer file of the `tokenizers` library."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from footnote_providers.e5.weights import Vocabulary

# The model's replacement table beyond NFKC; checked against all of its 4 837 entries.
_REMOVED = r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = r"[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"


def write(vocabulary: Vocabulary, path: Path) -> None:
    """Write tokenizer.json: a unigram model that puts `<s>` before a text and `</s>` after it."""
    scores = map(float, vocabulary.scores)
    tokenizer = Tokenizer(
        models.Unigram(list(zip(vocabulary.pieces, scores, strict=True)), vocabulary.unknown, byte_fallback=False)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_REMOVED), ""),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    start, end = vocabulary.pieces[vocabulary.start], vocabulary.pieces[vocabulary.end]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, vocabulary.start), (end, vocabulary.end)],
    )
    tokenizer.save(str(path), pretty=False)

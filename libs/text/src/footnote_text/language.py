"""Language detection that is reliable even for questions of a few words."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from footnote_kit.memoise import memoised

from footnote_text.scripts import ARMENIAN, GEORGIAN, GREEK, HAN, HANGUL, HANGUL_LETTERS, HEBREW, KANA, TAMIL, THAI
from footnote_text.stopwords import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 4000
_KEPT = 500  # characters
_SHORT = 30  # words; in longer texts the model is reliable alone
_lock = threading.Lock()

_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ja", re.compile(f"[{KANA}]")),
    ("ko", re.compile(f"[{HANGUL}{HANGUL_LETTERS}]")),
    ("zh", re.compile(f"[{HAN}]")),
    ("th", re.compile(f"[{THAI}]")),
    ("el", re.compile(f"[{GREEK}]")),
    ("he", re.compile(f"[{HEBREW}]")),
    ("ka", re.compile(f"[{GEORGIAN}]")),
    ("hy", re.compile(f"[{ARMENIAN}]")),
    ("ta", re.compile(f"[{TAMIL}]")),
)
_WITHIN = {"ary": "ar", "arz": "ar"}
"""The model's codes for Moroccan and Egyptian Arabic, and the macrolanguage that ISO 639-3 assigns them to."""
_BEYOND_LATIN = re.compile("[\u0370-\U0010ffff]")
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile("[A-Za-z]")


@lru_cache(maxsize=1)
def _identifier() -> Any:
    # Imported late, so that a process that never uses it does not load it.
    from footnote_text import language_model

    return language_model.identifier()


def _model_scores(text: str) -> dict[str, float]:
    """Return the probability of each language; callers must not modify it."""
    return _kept_scores(text) if len(text) <= _KEPT else _scores(text)


@memoised(2**19, lambda scores: 72 * len(scores))
def _kept_scores(text: str) -> dict[str, float]:
    # Several parts detect the language of the same question, each with its own candidates.
    return _scores(text)


def _scores(text: str) -> dict[str, float]:
    with _lock:
        identifier = _identifier()
    scores: dict[str, float] = identifier.probabilities(text)
    # The model separates dialects that share a code in ISO 639-1, and their scores split on short texts.
    for dialect, code in _WITHIN.items():
        scores[code] = scores.get(code, 0.0) + scores.pop(dialect, 0.0)
    return scores


def _sample(text: str) -> str:
    """Return the beginning and middle of a long text, because the beginning alone is often a title page."""
    if len(text) <= _SAMPLE:
        return text
    half = _SAMPLE // 2
    middle = len(text) // 2
    return text[:half] + " " + text[middle : middle + half]


def _by_script(text: str) -> str:
    if not _BEYOND_LATIN.search(text):
        return ""
    letters = len(_LETTER.findall(text))
    if letters == 0:
        return ""
    for language, pattern in _SCRIPTS:
        share = len(pattern.findall(text)) / letters
        # Japanese mixes kana with Han, so a small share of kana decides. Han needs a smaller share too, because its
        # text is denser than Latin words.
        if share >= (0.15 if language == "ja" else 0.3 if language in {"zh", "ko"} else 0.5):
            return language
    return ""


def _stop_word_votes(words: Sequence[str]) -> Counter[str]:
    votes: Counter[str] = Counter()
    for word in words:
        for language, stop_words in STOP_WORDS.items():
            if word in stop_words:
                votes[language] += 1
    return votes


def likeliest(text: str) -> str:
    """Return the most probable language of a short text, however uncertain; "" without words."""
    scores = _model_scores(text) if _WORD.search(text) else {}
    return max(scores, key=lambda code: scores[code], default="")


def detect(text: str, candidates: Sequence[str] = ()) -> str:
    """Return the language of a text as ISO 639-1 code; "" when uncertain.

    `candidates` are expected languages, most likely first. They decide when the text alone is not conclusive; a text
    clearly in another language still gets that language.
    """
    sample = _sample(text)
    script = _by_script(sample)
    if script:
        return script
    words = [word.lower() for word in _WORD.findall(sample)]
    if not words:
        return candidates[0] if len(candidates) == 1 else ""
    scores = _model_scores(sample)
    if len(words) > _SHORT:
        best = max(scores, key=lambda code: scores[code] + (0.1 if code in candidates else 0.0))
        return best if scores[best] >= 0.3 else ""
    votes = _stop_word_votes(words)
    total = len(words)
    combined = {code: probability for code, probability in scores.items() if probability > 0.001}
    for language, count in votes.items():
        combined[language] = combined.get(language, 0.0) + 1.5 * count / total
    for place, code in enumerate(candidates):
        combined[code] = combined.get(code, 0.0) + (0.6 if total <= 4 else 0.35) * (1.0 if place == 0 else 0.5)
    best = max(combined, key=lambda code: combined[code])
    evidence = combined[best]
    if best in candidates:
        return best
    # With few words and no function word among them, the model is only guessing.
    latin = _LATIN.search(sample) is not None
    if votes[best] == 0 and ((latin and total <= 3) or scores.get(best, 0.0) < 0.6):
        return ""
    return best if evidence >= 0.4 else ""

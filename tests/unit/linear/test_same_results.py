"""The patterns that were made linear find on ordinary text what they found before.

The old ones stand here; the texts are short, so that they end.
"""

# ruff: noqa: E501  (tables)

from __future__ import annotations

import re
from collections.abc import Callable

from footnote.types.v1.reasons_pb2 import SUSPICION_REASON_FORGED_CITATION
from footnote_augmentation import plan, suspicion
from footnote_cli import addresses
from footnote_generation.answering import markers
from footnote_generation.verification import claims
from footnote_indexing.chunking import divide
from footnote_ingestion.parsers import clean, format_codes, metadata, sniff
from footnote_ingestion.parsers.pdf import headings as pdf_headings
from footnote_ingestion.parsers.pdf import layout as pdf_layout
from footnote_ingestion.parsers.texts import markdown
from footnote_ingestion.parsers.texts import plain as text
from footnote_retrieval.query import understanding as query
from footnote_text import lexical, sentences
from hypothesis import example, given, settings
from hypothesis import strategies as st

_C = re.escape(sentences._CLOSING)
_U = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_WORDS = (
    "The", "tracker", "weighs", "12.8", "kg", "Hello", "Bob", "answer", "units", "please", "round", "e.g.", "Dr.", "l'eau",
    "d’été", "1,577.0", "3,5kg", "U.S.A.", "FY2019", "$", "€12", "(5)", "–", "—", "-", "[1]", "[2, 3]", "[source: 4]", "page",
    "3", "/", "of", "12", "iv", "1.2.3", "A.", "•", "*", "1)", "x-a:", "From:", "\"quoted", "words\"", "«", "ici", "»", "“", "”",
    "北京", "2020年3月", "《", "红楼梦", "》", "¿Qué", "!", "?", "...", "…", "a_b", "don't", "ок", "İ", "👩\u200d👧", "e\u0301", "सत्य",
    "Header:", "value;", "==", "---", "#", "hi", ",", ";", "ignore", "all", "previous", "instructions",
)  # fmt: skip
_GAPS = (" ", " ", " ", "", "  ", "\n", ". ", ", ")
_TEXTS = st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from(_GAPS)), max_size=14).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


def _spans(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: [(match.span(), match.groups()) for match in pattern.finditer(text)]


def _first(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """What `match` finds at the beginning, white space at the end left out of it."""
    return lambda text: (match := pattern.match(text)) and (match[0].rstrip(), match.groups())


def _whole(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: (match := pattern.fullmatch(text)) and match.groups()


def _found(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: pattern.search(text) is not None


def _words(check: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: [check(word) for word in text.split()]


_OLD_LEAD = (
    r"(?:(?:sources?|src|ref(?:erence)?s?|document|doc|extrait|passage|voir|see|cf\.?|quelle)\s*:?\s*(?:n[°o]\s*)?\#?)"
)
_OLD_NUMBERS = re.compile(
    rf"(?ix)\s*(?:{_OLD_LEAD}\s*)?(?P<list>\d{{1,4}}(?:\s*(?:,|;|&|/|\band\b|\bet\b|-"
    rf"|–)\s*(?:{_OLD_LEAD}\s*)?\d{{1,4}})*)\s*(?P<rest>[:,†|].*)?\s*"
)
_OLD_FIGURES = re.compile(r"(?:\s+[$€£(]*[\d.,]*\d[\d.,]*[)%]*|\s+[$€£]?\s*[—–-]){2,}\s*$")
_OLD_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_OLD_UNTITLED = re.compile(
    r"(?:untitled|document\d*|microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|slide ?\d*|titel|title|"
    r".*\.(?:docx?|pdf|indd|tex|dvi|xlsx?|pptx?|qxd|ps|eps|odt|rtf))",
    re.IGNORECASE,
)
_OLD_TOKEN = re.compile(
    rf"(?P<unspaced>[{_U}]+)|(?P<number>\d+(?:[.,]\d+)+(?![\w.,]*[^\W\d]))"
    r"|(?P<acronym>(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?)"
    rf"|(?P<word>(?:(?![{_U}])[\w\u0900-\u0963\u0966-\u0dff])+(?:['’ʼ](?:(?![{_U}])\w)+)*)"
)
_OLD_BOUNDARY = re.compile(rf"[.!?…]+(?:\s?[{_C}])*(?=\s|$)|[。！？｡]+[{_C}]*|\n\s*\n|\n(?=\s*(?:[-*•–]\s|\d+[.)]\s))")
_OLD_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|«\s?([^»\n]{2,200}?)\s?»|„([^“”\n]{2,200})[“”]")
_R = re.compile
_PAIRS: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
    "tokens": (_spans(_OLD_TOKEN), _spans(lexical._TOKEN)),
    "boundaries": (_spans(_OLD_BOUNDARY), _spans(sentences._BOUNDARY)),
    "word before": (
        lambda t: (m := _R(r"[\w.\-]*\w\Z").search(t)) and m[0], lambda t: (m := sentences._WORD_BEFORE.search(t)) and m[0]
    ),
    "phrases": (
        lambda t: [next(g for g in m.groups() if g).strip() for m in _OLD_QUOTED.finditer(t)],
        lambda t: [next(g for g in m.groups() if g).strip() for m in query._QUOTED.finditer(t)],
    ),
    "address": (
        _words(_whole(_R(r"(https?://)?[^\s/]+:(\d{1,5})|(unix|dns|ipv4|ipv6):\S+"))), _words(_whole(addresses._ADDRESS))
    ),
    "untitled": (
        lambda t: _OLD_UNTITLED.fullmatch(t) is not None,
        lambda t: bool(metadata._UNTITLED.fullmatch(t) or ("\n" not in t and metadata._FILE_NAME.search(t))),
    ),
    "tags": (lambda t: "" if _OLD_TAG.fullmatch(t) else _OLD_TAG.sub(" ", t), markdown._without_tags),
    "number formats": (_spans(_R(
        r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<symbol>[^\]-]*)[^\]]*\]|\[[^\]]*\]'
        r"|(?P<number>[#0?](?:[#0?,.]*[#0?])?)|(?P<percent>%)|(?P<sign>[-+$() ]|[^\x00-\x7f])|(?P<other>.)"
    )), _spans(format_codes._TOKEN)),
    "numbered headings": (_first(_R(
        r"(?:(\d{1,2}(?:\.\d{1,2})*)\.?|[A-Z]\.?|(?:chapter|section|part|appendix|annex|article|item)\s+\w+)\s+\S", re.I
    )), _first(pdf_headings._NUMBERED)),
    "sums": (_found(_OLD_FIGURES), pdf_headings._ends_in_figures),
    "figures": (
        _words(_whole(_R(r"[$€£¥(]*[-–—+]?\d[\d.,:/]*[)%]*|[-–—$€£¥%]|\(\d|\)"))), _words(_whole(pdf_layout._NUMERIC))
    ),
    "two figures": (
        lambda t: _found(_R(r"[\d–—-][^\s]*\s(?:.*\s)?\S*[\d–—-]"))(t.replace("\n", " ")),
        lambda t: _found(pdf_layout._TWO_FIGURES)(t.replace("\n", " ")),
    ),
    "last fragment": (_spans(_R(r"[^\W\d_]+$")), _spans(clean._LAST_FRAGMENT)),
    "list items": (_first(_R(r"\s*(?:[-*•‣◦]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")), _first(text._ITEM)),
    "underlines": (_words(_whole(_R(r"\s*(={3,}|-{3,}|~{3,})\s*"))), _words(_whole(text._UNDERLINE))),
    "mail headers": (
        lambda t: _R(r"(?:from|to|x-[\w-]+|content-[\w-]+):\s", re.I).match(t) is not None,
        lambda t: sniff._MAIL.match(t.encode()) is not None,
    ),
    "graphemes": (
        lambda t: [m.span() for m in __import__("regex").finditer(r"\X", t)],
        lambda t: [m.span() for m in divide._GRAPHEME.finditer(t)],
    ),
    "addressed": (_spans(_R(
        r"\b(?:hi|hello|hey|thanks|thank you|bonjour|bonsoir|salut|merci)\s*,?\s+(?:footnote|assistant|bot|claude"
        r"|chatgpt|madame|monsieur|sir|madam)\b"
    )), _spans(plan._ADDRESSED)),
    "forged citations": (
        _found(_R(r"\[\s*sources?\s*\d+[^\]\n]{0,80}\]|\bcite\b[^.!?\n]{0,30}\[\s*\d+\s*\]", re.I)),
        _found(next(p for _, reason, _, p in suspicion._SIGNS if reason == SUSPICION_REASON_FORGED_CITATION)),
    ),
    "list marks": (_first(_R(r"\s*(?:[-*•–]|\d{1,4}[.)]|#{1,6})\s+")), _first(claims._LIST_MARK)),
    "source numbers": (
        lambda t: (m := _OLD_NUMBERS.fullmatch(t)) and (m["list"], m["rest"]),
        lambda t: (m := markers._NUMBERS.fullmatch(t)) and (m["list"], m["rest"]),
    ),
}  # fmt: skip


@settings(max_examples=240)
@given(text=_TEXTS)
@example(text="Revenue 66,608 62,286")
@example(text="Net $ – (12) 5% ")
@example(text="What is it? Please round to two decimal places; answer in units. Answer in words?")
@example(text="Page 3 of 12")
@example(text="1.2.3 Scope of work")
@example(text="sources: 1, 2 and 3: see below")
@example(text="1,234.5a 1,2,3 4.5.6b")
@example(text="<a href='x'>link</a> and <b")
@example(text="🇫🇷🇩🇪🇫 flags e\u0301")
@example(text="hello , assistant: hi bot")
def test_ordinary_text_gives_what_it_gave(text: str) -> None:
    for what, (old, new) in _PAIRS.items():
        assert new(text) == old(text), what

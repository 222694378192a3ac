"""Splits text into sentences, and recognises one that refers to the previous one by its first word.

The anaphoric words of eight languages are a closed class, as listed in grammars.
"""

from __future__ import annotations

import re

from footnote_text.lexical import fold, word_set
from footnote_text.stopwords import STOP_WORDS

_ABBREVIATION_WORDS = """mr mrs ms dr prof sr jr st vs etc al fig figs eq eqs no nos vol vols pp ed eds inc ltd co corp
dept est approx ca cf ch sec art ref refs gen col sgt lt capt rev hon jan feb mar apr jun jul
aug sep sept oct nov dec e.g i.e a.m p.m u.s u.k u.n ph.d m.d b.a m.a d.c viz resp incl excl
min max avg tel ext m mm mme mlle mlles mmes me dr pr vve bd av env hab p.ex c.-à-d réf janv
févr juil déc bzw usw z.b d.h u.a ggf evtl inkl zzgl nr str hr fr abs bspw sog vgl ca sig sigg
dott dott.ssa ecc pag es ing avv ud uds ee.uu pág núm d.ª aprox dhr mevr blz bijv enz nl
okt dez mitgl uu руб шт г гг tzn ст п пп ч гл абз ust pkt ziff anm"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_WORDS.split())
# Abbreviations that stand only before a name or number, so that even a following capital starts no sentence.
_TITLE_WORDS = """mr mrs ms dr prof st gen col sgt lt capt rev hon m mm mme mlle me fig figs eq eqs no nos vol p
pp vs e.g i.e cf sec art ref refs ch z.b d.h nr hr fr sig dott pág núm dhr mevr blz bijv al tel
mio mrd tsd hrn med av bât sra srta dra avda ee ул д им проф стр рис тыс млн млрд godz dn ul np kl"""
_TITLES = frozenset(_TITLE_WORDS.split())
# "am 12. Mai", "der 2. Stock": German writes an ordinal as a number with a full stop. An article, or a word that
# contains one, precedes it. A content word follows it, whereas a sentence more often begins with a function word.
_BEFORE_ORDINAL_WORDS = """am im der die das den dem des vom zum zur beim bis ab seit ins dieser diese dieses diesem
diesen jeder jede jedem jeden ein eine einem einen einer eines unser unsere ihr ihre sein seine"""
_BEFORE_ORDINAL = frozenset(_BEFORE_ORDINAL_WORDS.split())
_MONTH_WORDS = """januar jänner februar märz april mai juni juli august september oktober november dezember
jan feb mär apr jun jul aug sep sept okt nov dez"""
_MONTHS = frozenset(_MONTH_WORDS.split())
_FUNCTION_WORDS = frozenset(word for words in STOP_WORDS.values() for word in words)
_NUMBER_AND_BEFORE = re.compile(r"(?:(?<![^\W\d_])([^\W\d_]++)|\d{1,2}+\.)\s\d{1,2}\Z")
_NEXT_WORD = re.compile(r"[^\W_]++")
_LETTERS = re.compile(r"[^\W\d_](?:\.[^\W\d_])++")
_TIMES = frozenset({"a.m", "p.m"})
_SPACED_LETTER = re.compile(r"[^\W\d_]\.")
_CLOSING = "\"'”’»›)]}】』」）"
QUESTION_MARKS = ("?", "？", "؟")
"""With one of them a question ends: Latin, full-width, Arabic."""
_OPENING = "\"'“‘«‹([{【『「（¿¡-–—*•#"
_BOUNDARY = re.compile(
    # A run of marks is matched only from its beginning, because the text after it is the same for the whole run.
    rf"(?<![.!?…؟۔।॥])[.!?…؟۔।॥]++(?:\s?[{re.escape(_CLOSING)}])*(?=\s|$)|[。！？｡]++[{re.escape(_CLOSING)}]*+"
    r"|\n\s*\n|\n(?=\s*+(?:[-*•–]\s|\d++[.)]\s))"
)
_WORD_BEFORE = re.compile(r"(?<![\w.\-])[\w.\-]++(?<=\w)\Z")
_FOLLOWING = re.compile(r"\s*+(\S?)")


def _ends_sentence(text: str, start: int, end: int) -> bool:
    """Return whether the boundary candidate text[start:end] ends a sentence, judged by the words around it."""
    mark = text[start:end]
    if mark[0] != "." or mark.rstrip(_CLOSING) not in {"."}:
        following = _following(text, end)
        # "Yahoo! announced", "…and so on": a lower-case word continues the sentence.
        return not (mark[0] in "!?…." and following.islower())
    before = _WORD_BEFORE.search(text[max(0, start - 24) : start])
    word = before.group() if before else ""
    after = text[end : end + 40].lstrip()
    following = after.lstrip(_OPENING)[:1]
    if following.islower():
        return False
    lowered = word.lower().rstrip(".")
    if lowered == "no" and following.isupper() and _is_answer(text[max(0, start - 24) : start - len(word)], after):
        return True
    # "M. Garnier", "p. 17", but "1,80 m. Elle": a single lower-case letter is an abbreviation before a number only.
    if lowered in _TITLES and following and (len(word) > 1 or word.isupper() or following.isdigit()):
        return False
    if lowered.endswith("str") and following.isdigit():
        return False  # "Hauptstr. 5"
    if len(word) == 1 and word.isalpha() and _SPACED_LETTER.match(after):
        return False  # "z. B."
    if word.isdigit() and len(word) <= 2 and _is_ordinal(text[max(0, start - 24) : start], after):
        return False
    if lowered in _ABBREVIATIONS and not following.isupper():
        return False
    if "." in word and _goes_on(word, text[max(0, start - len(word) - 2) : start - len(word)], after):
        return False
    if len(word) == 1 and word.isalpha() and word.isupper() and not _names_a_thing(text, start - 1, after):
        return False  # an initial: "J. Smith"
    # A number at the start of a line is a list marker: "1. First".
    return not (word.isdigit() and len(word) <= 3 and _begins_line(text, start - len(word)))


def _is_answer(before: str, after: str) -> bool:
    """Return whether "No." answers a question: at the start of a line or behind one, and before no "AB-12"."""
    begins = before.rstrip(f" \t{_OPENING}")[-1:] in ("", "\n", "!", "…", *QUESTION_MARKS)
    return begins and not any(map(str.isdigit, after.partition(" ")[0]))


def _goes_on(dotted: str, before: str, after: str) -> bool:
    """Return whether a capital after a dotted abbreviation begins no sentence: "the U.S. Navy", "11 a.m. PDT".

    Capitals are an adjective before a name, unless a function word follows, or they are an apposition: "Washington,
    D.C."; times, and small letters, go on before capitals alone.
    """
    found = _NEXT_WORD.match(after.lstrip(_OPENING))
    following = found[0] if found else ""
    if dotted.isupper() and _LETTERS.fullmatch(dotted) and dotted.lower() not in _TIMES:
        is_apposition = dotted.lower() in _ABBREVIATIONS and before.rstrip().endswith(",")
        return not is_apposition and following.lower() not in _FUNCTION_WORDS
    return dotted.lower() in _ABBREVIATIONS and len(following) > 1 and following.isupper()


def _names_a_thing(text: str, start: int, after: str) -> bool:
    """Return whether a capital ends a sentence as a name: "in room B. The press", "in Halle A. Die Presse".

    An initial is followed by a name, never by a function word. After a lower-case noun, the capital is that noun's
    name.
    """
    following = _NEXT_WORD.match(after.lstrip(_OPENING))
    if following and len(following[0]) > 1 and following[0].lower() in _FUNCTION_WORDS:
        return True
    before = _WORD_BEFORE.search(text[max(0, start - 25) : start].rstrip())
    noun = before.group() if before else ""
    return len(noun) > 2 and noun.islower() and noun not in _FUNCTION_WORDS and noun not in _TITLES


def _is_ordinal(before: str, after: str) -> bool:
    """Return whether the number at the end of `before`, with its full stop, is an ordinal like "12th"."""
    found = _NEXT_WORD.match(after)
    following = found.group().lower() if found else ""
    if following in _MONTHS:
        return True
    led = _NUMBER_AND_BEFORE.search(before)
    if led is None:
        return False
    if led[1] is None or following.isdigit():
        return following.isdigit()  # "30. 6. 2024"
    return led[1].lower() in _BEFORE_ORDINAL and following not in STOP_WORDS["de"] and after[:1].isupper()


def _following(text: str, index: int) -> str:
    """Return the first character from `index` on that is not white space; "" when there is none."""
    match = _FOLLOWING.match(text, index)
    return match[1] if match else ""


def _begins_line(text: str, index: int) -> bool:
    """Return whether only white space precedes `index` in its line."""
    while index > 0 and text[index - 1] != "\n":
        index -= 1
        if not text[index].isspace():
            return False
    return True


def split(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of the sentences in code points, end exclusive, in order and without overlap.

    Together they cover every character that is not white space. Abbreviations, initials and decimals do not end a
    sentence; CJK full stops and empty lines do.
    """
    return _spans(text, 0)


def starts_from(text: str, index: int) -> list[int]:
    """Return where the sentences begin that begin at `index` or later, as in `split` of the whole text."""
    # No boundary contains a letter, and a sentence that contains one is not joined to the previous one.
    known = index
    while known > 0 and not text[known - 1].isalnum():
        known -= 1
    return [start for start, _ in _spans(text, max(0, known - 1)) if start >= index]


def _spans(text: str, start: int) -> list[tuple[int, int]]:
    """Return the spans of the sentences from `start` on."""
    # Without spaces after full stops, only CJK punctuation ends a sentence, in every language.
    spans: list[tuple[int, int]] = []
    for match in _BOUNDARY.finditer(text, start):
        if match.end() <= start:
            continue
        mark = match.group()
        if not mark.isspace() and mark[0] in ".!?…" and not _ends_sentence(text, match.start(), match.end()):
            continue
        _append(text, start, match.end(), spans)
        start = match.end()
    _append(text, start, len(text), spans)
    return spans


def _append(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    """Append the span text[start:end] without surrounding white space; closing marks alone extend the previous span."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return
    if spans and not any(char.isalnum() for char in text[start:end]):
        spans[-1] = (spans[-1][0], end)
        return
    spans.append((start, end))


ANAPHORIC: dict[str, frozenset[str]] = {
    "en": word_set("it its they them their he him his she her there that one ones"),
    "fr": word_set("il elle ils elles lui sa son ses leur leurs celle celui ceux celles la y en"),
    "de": word_set("er sie es ihm ihn ihr ihre ihren ihrer ihrem ihres sein seine seinen seiner seinem dort dafur "
                   "davon damit dazu daran dabei darin"),
    "es": word_set("el ella ellos ellas su sus lo alli"),
    "it": word_set("lui lei loro suo sua suoi sue ne ci"),
    "pt": word_set("ele ela eles elas seu sua seus suas la nele nela"),
    "nl": word_set("hij zij ze het zijn haar hun er daar ervan ermee"),
    "ru": word_set("он она оно они его ее их ему ей им нем ней там"),
}  # fmt: skip
"""Third-person pronouns, possessives, and demonstrative adverbs."""
_LIKE_ARTICLES = word_set("la el lo het en y")


def begins_anaphorically(text: str, language: str) -> bool:
    """Return whether a sentence begins with a pronoun that refers to the previous sentence."""
    first = text[:40].split(maxsplit=1)[:1]
    return bool(first) and fold(first[0]) in ANAPHORIC.get(language, frozenset()) - _LIKE_ARTICLES

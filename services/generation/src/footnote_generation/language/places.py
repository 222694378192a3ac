"""Places in words, in the language of any locale: "cell C12 of stock.xlsx", "Seite 3 von bericht.pdf"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import Locator
from footnote_text import a1, locales
from footnote_text.lexical import fold, is_unspaced


@dataclass(frozen=True, slots=True)
class Place:
    """A place named by a phrase; unnamed parts are empty or 0. `start:end` is the phrase."""

    start: int
    end: int
    filename: str = ""
    sheet: str = ""
    cell: str = ""
    page: int = 0
    last_page: int = 0
    line: int = 0
    last_line: int = 0
    slide: int = 0


_EXTENSIONS = "pdf|xlsx|xlsm|xls|csv|docx|doc|pptx|ppt|markdown|md|txt|html?|eml|odt|ods|rtf|epub|json"
_QUOTED = (
    r"'(?P<{0}1>[^'\n]{{1,80}})'|\"(?P<{0}2>[^\"\n]{{1,80}})\"|«\s?(?P<{0}3>[^»\n]{{1,80}}?)\s?»"
    r"|[“„”](?P<{0}4>[^”“\n]{{1,80}})[”“]|‘(?P<{0}5>[^’\n]{{1,80}})’|「(?P<{0}7>[^」\n]{{1,80}})」"
)
_TO = r"(?:[-–~]|à|to|bis|a|tot|do|до|至|から)"
_SHORT = {
    "page": ("pp.", "p."),
    "sheet": ("onglet", "onglets", "tab", "tabs", "worksheet", "worksheets"),
    "slide": ("diapo",),
}
"""Words for places besides those of the locales."""


@cache
def _words(kind: str) -> str:
    """Return the pattern of a place's words in every locale, with endings for long words."""
    spoken = [word for code in locales.codes() for word in getattr(locales.choose(code).places, kind)]
    ways: list[str] = []
    for word in sorted({word.lower() for word in spoken}, key=len, reverse=True):
        plain = re.escape(word)
        ways.append(plain if is_unspaced(word[0]) or len(word) < 5 else rf"{re.escape(word[:-1])}\w{{0,3}}")
    more = [re.escape(word) for word in _SHORT.get(kind, ())]
    return "|".join(dict.fromkeys([*ways, *more]))


@cache
def _link() -> re.Pattern[str]:
    words = {word.lower() for code in locales.codes() for word in locales.choose(code).checks.place_links}
    spaced = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if not is_unspaced(word[0]))
    dense = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if is_unspaced(word[0]))
    return re.compile(rf"(?i)(?:[\s,;:(（，、\-–]|\b(?:{spaced})\b['’]?|{dense})*+")


@lru_cache(maxsize=64)
def _parts(filenames: tuple[str, ...]) -> re.Pattern[str]:
    known = "|".join(re.escape(name) for name in sorted(filenames, key=len, reverse=True) if name)
    # Only from the beginning of a run of such characters: later starts would match the same.
    generic = rf"(?<![\w%&+~-])(?<![\w%&+~-]\.)[\w%&+~-][\w.%&+~-]{{0,250}}\.(?:{_EXTENSIONS})(?![A-Za-z0-9_])"
    file = rf"(?P<file>{known + '|' if known else ''}{generic})"
    page, sheet, cell, slide, line = (_words(kind) for kind in ("page", "sheet", "cell", "slide", "line"))
    cells = r"[a-z]{1,3}\$?\d{1,7}(?:\s?(?:[:-]|à|to|bis)\s?\$?[a-z]{1,3}\$?\d{1,7})?"
    # No letter before a word, except in scripts without spaces.
    begin = r"(?:(?<![^\W\u2e80-\U0010ffff])|(?=[\u2e80-\U0010ffff]))"
    return re.compile(
        rf"""(?ix){begin}(?:
          ['"«“‘「]?\s?{file}\s?['"»”’」]?
        | (?:{cell}|range|plage)\s*\$?(?P<cell>{cells})(?![a-z0-9_])
        | (?:{sheet})\s?(?:{_QUOTED.format("sheet")}|(?<=\s)(?P<sheet6>[\w-]+))
        | (?:{page})\s?(?P<page>\d{{1,5}})(?:\s?{_TO}\s?(?P<last_page>\d{{1,5}}))?(?!\d)
        | (?:{line})\s?(?P<line>\d{{1,7}})(?:\s?{_TO}\s?(?P<last_line>\d{{1,7}}))?(?!\d)
        | (?:{slide})\s?(?P<slide>\d{{1,5}})(?!\d)
        | 第\s?(?P<cjk>\d{{1,7}})(?:\s?[-–~至]\s?(?P<last_cjk>\d{{1,7}}))?\s?(?P<cjk_kind>页|頁|ページ|行)
        )"""
    )


_DOTS = {ord("İ"): "i", ord("ı"): "i"}


def find_places(text: str, filenames: Sequence[str] = ()) -> list[Place]:
    """Find every place named in a text; parts joined by "of", "du fichier", commas or brackets are one place."""
    # Only for names that occur in the text: a pattern for every file of a question took a tenth of the answer's time.
    folded = _alike(text)
    pattern = _parts(tuple(name for name in dict.fromkeys(filenames) if name and _alike(name) in folded))
    places: list[Place] = []
    current: dict[str, str | int] = {}
    for match in pattern.finditer(text):
        found: dict[str, str | int] = {}
        group = match.groupdict()
        if group["file"]:
            found["filename"] = group["file"]
        sheet = next((group[f"sheet{i}"] for i in range(1, 8) if group[f"sheet{i}"]), "")
        if sheet:
            found["sheet"] = sheet
        if group["cell"]:
            found["cell"] = re.sub(r"-|À|TO|BIS", ":", re.sub(r"[\s$]", "", group["cell"]).upper())
        for name in ("page", "last_page", "line", "last_line", "slide"):
            if group[name]:
                found[name] = int(group[name])
        if group["cjk"]:
            kind = "line" if group["cjk_kind"] == "行" else "page"
            found[kind] = int(group["cjk"])
            if group["last_cjk"]:
                found[f"last_{kind}"] = int(group["last_cjk"])
        joined = current and _link().fullmatch(text, int(current["end"]), match.start())
        if joined and not (found.keys() & current.keys()):
            current.update(found)
            current["end"] = match.end()
        else:
            if current:
                places.append(_close(text, current))
            current = {"start": match.start(), "end": match.end(), **found}
    if current:
        places.append(_close(text, current))
    return places


def _alike(text: str) -> str:
    """Normalise characters that a case-insensitive pattern treats as equal."""
    return text if text.isascii() and text.islower() else text.translate(_DOTS).casefold()


def _close(text: str, values: dict[str, str | int]) -> Place:
    """Return the place with its phrase extended over the closing bracket."""
    start, end = int(values["start"]), int(values["end"])
    phrase = text[start:end]
    for opening, closing in ("()", "（）"):
        if phrase.count(opening) > phrase.count(closing) and text[end : end + 1] == closing:
            end += 1
    return Place(**{**values, "end": end})  # type: ignore[arg-type]


def _stem(filename: str) -> str:
    return re.sub(rf"\.(?:{_EXTENSIONS})$", "", fold(filename).strip(), flags=re.IGNORECASE)


def fits(place: Place, locator: Locator) -> bool:
    """Return whether a source's place contains the named one."""
    kind = locator.WhichOneof("place")
    if place.sheet and (kind != "sheet" or fold(locator.sheet.sheet) != fold(place.sheet)):
        return False
    if place.cell and (kind != "sheet" or not a1.holds(locator.sheet.range, place.cell)):
        return False
    if place.page:
        last = max(locator.page.page, locator.page.last_page)
        if kind != "page" or place.page > last or max(place.page, place.last_page) < locator.page.page:
            return False
    if place.line and (
        kind != "lines"
        or not locator.lines.first_line <= place.line <= max(locator.lines.first_line, locator.lines.last_line)
    ):
        return False
    return not place.slide or (kind == "slide" and locator.slide.slide == place.slide)


def matching(place: Place, sources: Sequence[Source]) -> list[Source]:
    """Return the sources that a place may mean, in order; without a file name it must fit exactly one."""
    named = [
        source
        for source in sources
        if not place.filename
        or fold(source.filename) == fold(place.filename)
        or _stem(source.filename) == _stem(place.filename)
        # Without spaces the word for a file may directly precede its name.
        or (is_unspaced(place.filename[0]) and source.filename and place.filename.endswith(source.filename))
    ]
    fitting = [source for source in named if fits(place, source.locator)]
    return fitting if place.filename or len(fitting) == 1 else []

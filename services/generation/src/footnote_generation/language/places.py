"""Places written out in words, English or French: "cell C12 of production.xlsx", "page 3 de rapport.pdf"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import Locator
from footnote_text import a1
from footnote_text.lexical import fold


@dataclass(frozen=True, slots=True)
class Place:
    """What a phrase says about where something stands; empty or 0 where it says nothing. `start:end` is the phrase."""

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
    r"|“(?P<{0}4>[^”\n]{{1,80}})”|‘(?P<{0}5>[^’\n]{{1,80}})’"
)
_LINK = (
    r"(?:[\s,;:(\-–]|\b(?:of|in|from|on|the|du|de|des|dans|sur|la|le|les|à|au|et|and|fichier|file|document"
    r"|workbook|classeur|named|nommé)\b|\b[ld]['’])*"
)


@lru_cache(maxsize=64)
def _parts(filenames: tuple[str, ...]) -> re.Pattern[str]:
    known = "|".join(re.escape(name) for name in sorted(filenames, key=len, reverse=True) if name)
    # From the beginning of a run of such characters only: what follows is the same for all of it.
    generic = rf"(?<![\w%&+~-])(?<![\w%&+~-]\.)[\w%&+~-][\w.%&+~-]{{0,250}}\.(?:{_EXTENSIONS})(?!\w)"
    file = rf"(?P<file>{known + '|' if known else ''}{generic})"
    return re.compile(
        rf"""(?ix)(?<!\w)(?:
          ['"«“‘]?\s?{file}\s?['"»”’]?
        | (?:cell(?:ule)?s?|range
          |plage)\s+\$?(?P<cell>[a-z]{{1,3}}\$?\d{{1,7}}(?:\s?[:à-]\s?\$?[a-z]{{1,3}}\$?\d{{1,7}})?)(?!\w)
        | (?:feuilles?|sheets?|onglets?|tabs?|worksheets?)\s+(?:{_QUOTED.format("sheet")}|(?P<sheet6>[\w-]+))
        | (?:pages?|pp?\.)\s?(?P<page>\d{{1,5}})(?:\s?(?:[-–]|à|to)\s?(?P<last_page>\d{{1,5}}))?(?!\w)
        | (?:lines?|lignes?)\s+(?P<line>\d{{1,7}})(?:\s?(?:[-–]|à|to)\s?(?P<last_line>\d{{1,7}}))?(?!\w)
        | (?:slides?|diapositives?|diapos?)\s+(?P<slide>\d{{1,5}})(?!\w)
        )"""
    )


_DOTS = {ord("İ"): "i", ord("ı"): "i"}
_LINK_PATTERN = re.compile(_LINK, re.IGNORECASE)


def find_places(text: str, filenames: Sequence[str] = ()) -> list[Place]:
    """Find every place named in a text; parts joined by "of", "du fichier", commas or brackets are one place."""
    # Only of names that stand there: a pattern of its own for the files of every question took a tenth of its answer.
    folded = _alike(text)
    pattern = _parts(tuple(name for name in dict.fromkeys(filenames) if name and _alike(name) in folded))
    places: list[Place] = []
    current: dict[str, str | int] = {}
    for match in pattern.finditer(text):
        found: dict[str, str | int] = {}
        group = match.groupdict()
        if group["file"]:
            found["filename"] = group["file"]
        sheet = next((group[f"sheet{i}"] for i in range(1, 7) if group[f"sheet{i}"]), "")
        if sheet:
            found["sheet"] = sheet
        if group["cell"]:
            found["cell"] = re.sub(r"[\s$]", "", group["cell"]).upper().replace("À", ":").replace("-", ":")
        for name in ("page", "last_page", "line", "last_line", "slide"):
            if group[name]:
                found[name] = int(group[name])
        joined = current and _LINK_PATTERN.fullmatch(text, int(current["end"]), match.start())
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
    """Return a text in which characters that a pattern takes for one another whatever their case are the same."""
    return text if text.isascii() and text.islower() else text.translate(_DOTS).casefold()


def _close(text: str, values: dict[str, str | int]) -> Place:
    """Return the place, its phrase taking in a bracket that it opened."""
    start, end = int(values["start"]), int(values["end"])
    phrase = text[start:end]
    if phrase.count("(") > phrase.count(")") and text[end : end + 1] == ")":
        end += 1
    return Place(**{**values, "end": end})  # type: ignore[arg-type]


def _stem(filename: str) -> str:
    return re.sub(rf"\.(?:{_EXTENSIONS})$", "", fold(filename).strip(), flags=re.IGNORECASE)


def fits(place: Place, locator: Locator) -> bool:
    """Whether a source's place holds the one named."""
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
    """Return the sources that a place may mean, in order; a place without a file name must fit exactly one of them."""
    named = [
        source
        for source in sources
        if not place.filename
        or fold(source.filename) == fold(place.filename)
        or _stem(source.filename) == _stem(place.filename)
    ]
    fitting = [source for source in named if fits(place, source.locator)]
    return fitting if place.filename or len(fitting) == 1 else []

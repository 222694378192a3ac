"""Removes plain HTML and images from Markdown, before `markup.Guard` disarms what remains.

Code is left unchanged. The stripper works on a stream, as the guard does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]  # it ships no types

from footnote_generation.answering.markup import Edit, Scanner

HTML, IMAGE = "HTML was removed", "an image was removed"
_TAG_LIMIT, _COMMENT_LIMIT, _IMAGE_LIMIT = 400, 2000, 850

_ELEMENTS = re.compile(
    r"a|abbr|acronym|address|applet|area|article|aside|audio|b|base|bdi|bdo|big|blink|blockquote|body|br|"
    r"button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|"
    r"dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|"
    r"hgroup|hr|html|i|iframe|img|input|ins|isindex|kbd|keygen|label|legend|li|link|main|map|mark|marquee|"
    r"math|menu|menuitem|meta|meter|nav|nobr|noembed|noframes|noscript|object|ol|optgroup|option|output|p|"
    r"param|picture|plaintext|portal|pre|progress|q|rp|rt|ruby|s|samp|script|section|select|slot|small|source|"
    r"span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|"
    r"tr|track|tt|u|ul|use|var|video|wbr|xmp|animate|animatetransform|foreignobject|image|set|path|g|circle|"
    r"rect"
)
_SPACED = re.compile(r"br|hr|p|div|li|tr|td|th|ul|ol|dl|dd|dt|table|h1|h2|h3|h4|h5|h6|option")
_FLAGS = "disabled|checked|hidden|controls|autoplay|loop|muted|open|async|defer|allowfullscreen|autofocus|required"
_TAG = regex.compile(
    r"<(?:/(?P<close>[A-Za-z][A-Za-z0-9-]*+)\s*+|(?P<open>[A-Za-z][A-Za-z0-9-]*+)(?:[\s/]++(?:[^\s\"'<>/=]++\s*+=\s*+"
    rf"(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++)|(?i:{_FLAGS})(?=[\s/>])))*+[\s/]*+)>"
)
_RAISED = regex.compile(r"(?i)<sup>\s{0,4}+\^?(\d{1,4}+(?:\s?[,-]\s?\d{1,4}+){0,8})\s{0,4}+</sup>")
_RAISED_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", " \t\n")
_IMAGE = regex.compile(r"!\[([^\[\]\n`<\\]{0,200}+)\]\((?:[^()\n]|\([^()\n]{0,300}+\)){0,600}+\)")


@dataclass(slots=True)
class Stripper(Scanner):
    """Removes whole tags, comments and images, leaving the words in them."""

    _previous: str = "\n"
    """The input character before the held text."""
    _left: str = ""
    _left_at: int = -1
    """The last character kept before the latest removal, and where that removal ended."""

    def feed(self, text: str, final: bool = False) -> str:
        """Take more text; return the settled part."""
        kept: list[str] = []
        position = self._start + self._position
        for edit in self._scan(text, final):
            kept += (self._settled(position, edit.start), edit.text)
            position = edit.end
        kept.append(self._settled(position, self._start + self._position))
        if self._position:
            self._previous = self._buffer[self._position - 1]
        return "".join(kept)

    def finish(self) -> str:
        """Return the rest."""
        return self.feed("", final=True)

    def _settled(self, start: int, end: int) -> str:
        return self._buffer[start - self._start : end - self._start]

    def _replace(self, end: int, text: str, warning: str) -> list[Edit]:
        if warning not in self.warnings:
            self.warnings.append(warning)
        edit = Edit(self._start + self._position, self._start + end, text)
        self._left, self._left_at = text[-1:] or self._before(), edit.end
        self._position = end
        return [edit]

    def _before(self) -> str:
        """Return the output character before the next one."""
        if self._start + self._position == self._left_at:
            return self._left
        return self._buffer[self._position - 1] if self._position else self._previous

    def _angle(self, final: bool) -> list[Edit] | None:
        at, text = self._position, self._buffer
        if "<!--".startswith(text[at : at + 4]) and not final and len(text) - at < 4:
            return None
        if text.startswith("<!--", at):
            return self._comment(final)
        window = text[at : at + _TAG_LIMIT]
        short = not final and len(window) < _TAG_LIMIT
        raised = _RAISED.match(window, partial=short)
        if raised is not None:
            # Superscript digits stay an exponent or a citation.
            return (
                None if raised.partial else self._replace(at + raised.end(), raised[1].translate(_RAISED_DIGITS), HTML)
            )
        tag = _TAG.match(window, partial=short)
        if tag is not None and tag.partial:
            return None
        name = (tag["open"] or tag["close"]).lower() if tag is not None else ""
        if tag is None or not _ELEMENTS.fullmatch(name):
            self._position += 1
            return []
        gap = " " if _SPACED.fullmatch(name) and not self._before().isspace() else ""
        return self._replace(at + tag.end(), gap, HTML)

    def _comment(self, final: bool) -> list[Edit] | None:
        at = self._position
        end = self._buffer.find("-->", at + 4, at + _COMMENT_LIMIT)
        if end >= 0:
            return self._replace(end + 3, "", HTML)
        if not final and len(self._buffer) - at < _COMMENT_LIMIT:
            return None
        self._position += 1
        return []

    def _bang(self, final: bool) -> list[Edit] | None:
        at = self._position
        window = self._buffer[at : at + _IMAGE_LIMIT]
        image = _IMAGE.match(window, partial=not final and len(window) < _IMAGE_LIMIT)
        if image is None:
            self._position += 1
            return []
        if image.partial:
            return None
        return self._replace(at + image.end(), image[1], IMAGE)

    def _bracket(self, final: bool) -> list[Edit] | None:
        self._position += 1
        return []

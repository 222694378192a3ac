"""Markdown: headings, paragraphs, lists, code, tables and front matter, with line numbers."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path

from footnote.types.v1.locator_pb2 import LineLocator
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote.index import footnote_def
from mdit_py_plugins.front_matter import front_matter_plugin

from footnote_ingestion.parsers.base import LIST_ITEM, NOTE, PARAGRAPH, BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import RAISED, counted_lines, inline, joined, starts_as_figure
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, STRUCK_LEFT_OUT
from footnote_ingestion.parsers.rows import TableRows
from footnote_ingestion.parsers.tables import naming_columns
from footnote_ingestion.parsers.texts.encoding import decode
from footnote_ingestion.parsers.texts.html import write_html
from footnote_ingestion.parsers.texts.html_elements import in_line
from footnote_ingestion.parsers.texts.source import write_code

# An unclosed one extends to the end of the file, so it is searched for only once.
_TAG = re.compile(r"</?(?P<name>[a-zA-Z][a-zA-Z0-9-]*+)[^>]*+(?P<closed>>?)")
_STRUCK = re.compile(r"<(?P<name>/?(?:del|s|strike))\b[^<>]*>", re.IGNORECASE)
_TABLE = re.compile(r"<(/?)table\b", re.IGNORECASE)
_IN_TABLE = re.compile(r"\A\s*+(?:</t[dh]\s*+>\s*+)?<(?:tr|td|th|tbody|thead|tfoot)\b", re.IGNORECASE)
_LEARNT_ROWS = 30
_SILENT = frozenset({"td_open", "td_close", "th_open", "th_close", "tbody_open", "tbody_close"})
_FIELD = re.compile(r"^(\w[\w -]*):\s*(.*)$")


class MarkdownParser:
    """Reads CommonMark with tables and front matter."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text as Markdown."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the blocks; title, authors, tags and date of the front matter become properties."""
        properties = Properties()
        reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).use(front_matter_plugin)
        # Definitions alone: the plugin's references take quadratic time, and stand apart from words as text.
        reader.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
        tokens = reader.parse("\n".join(counted_lines(decode(path.read_bytes(), out))))
        _Writer(out, properties).write(tokens)
        return properties


class _Writer:
    """Walks the flat token list; keeps the list depth and the current table."""

    def __init__(self, out: BlockWriter, properties: Properties) -> None:
        self._out = out
        self._properties = properties
        self._items = self._notes = 0
        self._number = ""
        """What stands before the next text: the number of an item, or the label of a note."""
        self._lists: list[int] = []
        """The next number of each open list; -1 for bullets."""
        self._headers: list[str] = []
        self._row: list[str] = []
        self._rows: list[tuple[LineLocator, list[str]]] = []
        self._in_table = False
        self._heading = 0
        self._in_head = False

    def write(self, tokens: list[Token]) -> None:
        place = LineLocator(first_line=1, last_line=1)
        lines: list[int] | None = None
        for token in _whole_tables(tokens):
            if token.type in _SILENT:
                continue
            if token.map and token.map != lines:
                lines = token.map
                place = LineLocator(first_line=token.map[0] + 1, last_line=max(token.map[1], token.map[0] + 1))
            if token.type == "inline":
                self._inline(token, place)
                continue
            match token.type:
                case "front_matter":
                    _front_matter(token.content, self._properties)
                case "heading_open":
                    self._heading = int(token.tag[1])
                case "heading_close":
                    self._heading = 0
                case "ordered_list_open" | "bullet_list_open":
                    self._lists.append(int(token.attrs.get("start", 1)) if token.type[0] == "o" else -1)
                case "ordered_list_close" | "bullet_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._items += 1
                    self._number = f"{self._lists[-1]}{token.markup} " if self._lists[-1] >= 0 else ""
                    self._lists[-1] += self._lists[-1] >= 0
                case "list_item_close":
                    self._items -= 1
                    self._number = ""
                case "footnote_reference_open":
                    self._notes += 1
                    self._number = f"[^{token.meta['label']}]: "
                case "footnote_reference_close":
                    self._notes -= 1
                case "fence" | "code_block":
                    fence = token.type == "fence"
                    write_code(token.content.split("\n"), place.first_line - (0 if fence else 1), self._out)
                case "html_block":
                    write_html(token.content, self._out, place)
                case _ if token.type.startswith(("table", "thead", "tr")):
                    self._table_token(token.type, place)

    def _inline(self, token: Token, place: LineLocator) -> None:
        if struck := _take_out_struck(token):
            self._out.warn(CONTENT_LEFT_OUT, STRUCK_LEFT_OUT, struck, [place])
        text, self._number = inline(self._number + _text(token)), ""
        if self._in_table:
            self._row.append(text)
        elif self._heading:
            self._out.heading(text, self._heading, place)
        else:
            self._out.add(NOTE if self._notes else LIST_ITEM if self._items else PARAGRAPH, text, place)

    def _table_token(self, kind: str, place: LineLocator) -> None:
        match kind:
            case "table_open":
                self._in_table, self._rows = True, []
            case "table_close":
                self._in_table = False
                self._write_table()
            case "thead_open":
                self._in_head = True
            case "thead_close":
                self._in_head = False
            case "tr_open":
                self._row = []
            case "tr_close" if self._in_head:
                self._headers = self._row
            case "tr_close":
                self._rows.append((place, self._row))

    def _write_table(self) -> None:
        texts = [row for _, row in self._rows[:_LEARNT_ROWS]]
        self._out.numbers.learn(texts)
        headers = [(header,) if header else () for header in self._headers]
        table = TableRows(self._out, headers, naming=naming_columns(texts))
        for number, (place, values) in enumerate(self._rows, 2):
            table.row(number, values, place, typed=[*map(self._out.numbers.cell, values)])


def _whole_tables(tokens: list[Token]) -> list[Token]:
    """Return the tokens with each HTML table in one: CommonMark ends a block of HTML at a blank line.

    The rows and cells behind Markdown in a cell are a table of their own.
    """
    made: list[Token] = []
    pieces: list[str] = []
    opened = 0
    for token in tokens:
        if token.type == "html_block" and pieces and opened:
            pieces.append(token.content)
            if token.map and made[-1].map:
                made[-1].map = [made[-1].map[0], token.map[1]]
        else:
            _join(made, pieces)
            made.append(token)
            pieces = [token.content] if token.type == "html_block" else []
        if token.type == "html_block":
            opened = max(opened + sum(-1 if one[1] else 1 for one in _TABLE.finditer(token.content)), 0)
    _join(made, pieces)
    return made


def _join(tokens: list[Token], pieces: list[str]) -> None:
    if pieces:
        content = "\n".join(pieces)
        tokens[-1].content = f"<table>{content}" if _IN_TABLE.match(content) else content


def _take_out_struck(token: Token) -> int:
    """Replace the struck pieces of inline Markdown with spaces; return their number."""
    kept: list[Token] = []
    opened: dict[str, int] = {}
    """Where an unclosed struck piece begins in `kept`, by the name of its tag."""
    count = 0
    for child in token.children or ():
        kept.append(child)
        name = {"s_open": "~~", "s_close": "/~~"}.get(child.type, "")
        if child.type == "html_inline" and (tag := _STRUCK.fullmatch(child.content)):
            name = tag["name"].lower()
        if not name:
            continue
        if not name.startswith("/"):
            opened.setdefault(name, len(kept) - 1)
        elif (begin := opened.pop(name[1:], -1)) >= 0:
            opened = {other: at for other, at in opened.items() if at < begin}
            kept[begin:] = [Token("softbreak", "", 0)]
            count += 1
    if count:
        token.children = kept
    return count


def _text(token: Token) -> str:
    """Return the visible text of inline Markdown: link texts, alternative texts, code; no markup."""
    children = token.children or ()
    if len(children) == 1 and children[0].type == "text":
        return children[0].content
    parts: list[str] = []
    mark = ""
    for child in children:
        match child.type:
            case "text" | "code_inline" if child.content:
                parts.append(mark + child.content if starts_as_figure(child.content) else child.content)
                mark = ""
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case "image":
                parts.append(_text(child) or child.content)
            case "html_inline":
                parts.append(_without_tags(child.content))
                tag = child.content[:5].lower()
                mark = RAISED if tag in ("<sup>", "<sup ") else "" if tag == "</sup" else mark
    return joined(parts)


def _without_tags(text: str) -> str:
    """Return nothing for a tag within a line, a space for `<br>` and blocks; other text with a space for each tag."""
    whole = _TAG.fullmatch(text)
    if whole is not None and whole["closed"]:
        name = whole["name"].lower()
        if name != "br" and in_line(name):
            return ""
    return _TAG.sub(lambda match: " " if match["closed"] else match[0], text)


def _front_matter(content: str, properties: Properties) -> None:
    """Return the simple `key: value` lines of YAML front matter, without nested values."""
    key = ""
    for line in content.splitlines():
        if (found := _FIELD.match(line)) is not None:
            key, values = found[1].strip().lower(), _values(found[2])
        elif line.strip().startswith("- ") and key:
            values = _values(line.strip()[2:])
        else:
            continue
        if key == "title" and values:
            properties.title = ", ".join(values)
        elif key in ("author", "authors"):
            properties.authors += values
        elif key in ("tags", "keywords"):
            properties.keywords += values
        elif key in ("lang", "language") and values:
            properties.language = values[0][:2].lower()
        elif key in ("date", "updated", "lastmod") and values:
            properties.file_time = _time(values[0]) or properties.file_time


def _values(text: str) -> list[str]:
    text = text.strip()
    parts = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [text]
    return [value for part in parts if (value := inline(part).strip("'\""))]


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        try:
            return datetime.combine(date.fromisoformat(text[:10]), datetime.min.time())
        except ValueError:
            return None

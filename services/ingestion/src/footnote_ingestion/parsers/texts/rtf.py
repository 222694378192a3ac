"""Rich Text Format: its text, by striprtf."""

from __future__ import annotations

import re
from pathlib import Path

from striprtf.striprtf import rtf_to_text

from footnote_ingestion.parsers.base import BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.texts.plain import write_text

_TITLE = re.compile(r"\{\\title\s++([^{}\\]{1,500}+)\}")
_AUTHOR = re.compile(r"\{\\author\s++([^{}\\]{1,200}+)\}")


class RtfParser:
    """Reads rtf files; their paragraphs are lines of the text."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Any text that begins as RTF can be read."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write each line of the text as a paragraph."""
        source = path.read_bytes().decode("latin-1")
        text: str = rtf_to_text(source, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
        write_text(text.replace("\n", "\n\n"), out, with_lines=False)
        title, author = _TITLE.search(source), _AUTHOR.search(source)
        return Properties(
            title=inline(title[1]) if title else "", authors=[inline(author[1])] if author and inline(author[1]) else []
        )

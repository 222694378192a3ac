"""A document's overall metadata: language, keywords, counts, structure."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePosixPath

from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.types.v1.document_pb2 import ReadingWarning
from footnote_text.keywords import keywords
from footnote_text.language import detect

from footnote_ingestion.parsers.base import BlockWriter, Properties
from footnote_ingestion.parsers.failures import OTHER

_LANGUAGE_SAMPLE = 3_000
# A document's beginning names its subject, and for text files keywords cost more than all other parsing.
_KEYWORD_SAMPLE = 1_500
_KEYWORDS = 10
_UNTITLED = re.compile(
    r"(?:untitled|document\d*|microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|slide ?\d*|titel|title)",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"\.(?:docx?|pdf|indd|tex|dvi|xlsx?|pptx?|qxd|ps|eps|odt|rtf)\Z", re.IGNORECASE)


def describe(out: BlockWriter, properties: Properties, filename: str) -> ParsedMetadata:
    """Return the metadata of a document whose blocks are all written to `out`."""
    sample = out.sample
    language = next(filter(_is_code, (detect(sample[:_LANGUAGE_SAMPLE]), properties.language)), "")
    noticed = out.noticed.warnings() + [ReadingWarning(kind=OTHER, text=words) for words in properties.warnings]
    structure = out.structure
    structure.has_headings = structure.heading_count >= 2
    structure.has_paragraphs = structure.paragraph_count >= 2
    structure.has_tables = structure.table_row_count > 0
    found = ParsedMetadata(
        title=_title(out, properties, filename)[:500],
        authors=[author[:200] for author in properties.authors[:20]],
        language=language,
        keywords=_keywords(sample, language, properties.keywords),
        page_count=properties.page_count,
        word_count=out.word_count,
        char_count=out.char_count,
        structure=structure,
        block_count=out.block_count,
        warnings=noticed,
    )
    if properties.file_time is not None:
        with suppress(OverflowError, ValueError):  # in UTC before the year 1 or after 9999
            found.file_time.FromDatetime(properties.file_time)
    return found


def _is_code(language: str) -> bool:
    return len(language) == 2 and language.isascii() and language.isalpha()


def _title(out: BlockWriter, properties: Properties, filename: str) -> str:
    """Return the file's own title unless a program generated it, else the first heading, else the file name."""
    title = properties.title
    if title and not _UNTITLED.fullmatch(title) and not ("\n" not in title and _FILE_NAME.search(title)):
        return title
    return out.first_heading or PurePosixPath(filename).stem


def _keywords(sample: str, language: str, own: list[str]) -> list[str]:
    found = dict.fromkeys(word[:100] for word in own[:_KEYWORDS])
    text = sample[:_KEYWORD_SAMPLE]
    if len(text) >= 100:
        found |= dict.fromkeys(keywords(text, language, _KEYWORDS))
    return list(found)[: 2 * _KEYWORDS]

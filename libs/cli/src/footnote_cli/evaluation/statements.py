"""Statements with their sources and labels for evaluation: JSON lines, one per statement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footnote.types.v1.answer_pb2 import Source
from footnote_text import language as languages

from footnote_cli.evaluation.dataset import DatasetError

_LONGEST = 8000  # characters of a statement, as VerifyStatements takes it
SUPPORTED, PARTLY, NOT = LABELS = ("supported", "partially_supported", "not_supported")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, its source, and whether that supports it; figures are grouped by `kind` and `language`."""

    id: str
    text: str
    source: Source
    label: str
    kind: str
    language: str


def load(path: Path) -> list[Statement]:
    """Read a file, or the claims.jsonl of a folder; raises DatasetError with the line number.

    A line has `id` (or `_id`), `statement`, `label` and `source`. The source is a text, a list of sentences, or an
    object with `text` and optional `filename`, `title`, `headings`. `kind` and `language` are optional; a missing
    language is detected.
    """
    file = path / "claims.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise DatasetError(f"{file} is missing: a set of verdicts is a file of JSON lines, or a folder's claims.jsonl")
    found: dict[str, Statement] = {}
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                one = _statement(json.loads(line), number)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DatasetError(f"{file}, line {number}: {type(error).__name__} {error}") from error
            if one.id in found:
                raise DatasetError(f"{file}, line {number}: the id {one.id!r} is there twice")
            found[one.id] = one
    if not found:
        raise DatasetError(f"{file} holds no statements")
    return list(found.values())


def _statement(record: Mapping[str, Any], number: int) -> Statement:
    label = record["label"]
    if label not in LABELS:
        raise ValueError(f"label {label!r} is none of {', '.join(LABELS)}")
    text = record["statement"].strip()
    source = _source(record["source"])
    if not text or not source.text.strip():
        raise ValueError("statement and source must have a text")
    if len(text) > _LONGEST:
        raise ValueError(f"a statement has at most {_LONGEST} characters")
    language = record.get("language") or languages.detect(text, ("en",)) or "?"
    return Statement(
        str(record.get("id", record.get("_id", number))), text, source, label, record.get("kind") or label, language
    )


def _source(given: Any) -> Source:
    if isinstance(given, str):
        return Source(number=1, text=given)
    if isinstance(given, list):
        return Source(number=1, text="\n".join(given))
    source = Source(number=1, filename=given.get("filename", ""), title=given.get("title", ""), text=given["text"])
    source.locator.heading_path.extend(given.get("headings") or ())
    return source

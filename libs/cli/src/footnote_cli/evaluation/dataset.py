"""Data sets in the layout of BEIR: corpus.jsonl, queries.jsonl, qrels.tsv."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path


class DatasetError(Exception):
    """The folder is not a data set; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, questions, and the graded relevance of documents to questions."""

    name: str
    documents: tuple[CorpusDocument, ...]
    queries: dict[str, str]
    relevant: dict[str, dict[str, float]]
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """Documents from which a question was written: neither right nor wrong, left out of the second score."""

    def sampled(self, count: int, seed: int = 0) -> Dataset:
        """Return the set with at most `count` judged questions, the same ones for the same seed."""
        if count <= 0 or count >= len(self.queries):
            return self
        chosen = sorted(random.Random(seed).sample(sorted(self.queries), count))
        return replace(self, queries={query: self.queries[query] for query in chosen})


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise DatasetError(f"{path} is missing: a data set has corpus.jsonl, queries.jsonl and qrels.tsv")
    with path.open(encoding="utf-8-sig") as lines:
        yield from (line.rstrip("\n") for line in lines)


def _pairs(path: Path) -> Iterator[tuple[str, str, float]]:
    for number, line in enumerate(_lines(path)):
        columns = line.split("\t")
        if number == 0 or len(columns) < 2:
            continue  # header
        yield columns[0], columns[1], float(columns[2]) if len(columns) > 2 else 1.0


def load(folder: Path) -> Dataset:
    """Read a data set; raises DatasetError. Questions without a relevant document are left out."""
    documents = []
    for line in _lines(folder / "corpus.jsonl"):
        record = json.loads(line)
        documents.append(CorpusDocument(str(record["_id"]), record.get("title", ""), record.get("text", "")))
    relevant: dict[str, dict[str, float]] = {}
    for query, document, score in _pairs(folder / "qrels.tsv"):
        if score > 0:
            relevant.setdefault(query, {})[document] = score
    queries = {}
    for line in _lines(folder / "queries.jsonl"):
        record = json.loads(line)
        if str(record["_id"]) in relevant:
            queries[str(record["_id"])] = record["text"]
    sources: dict[str, set[str]] = {}
    if (folder / "source_documents.tsv").is_file():
        for query, document, _ in _pairs(folder / "source_documents.tsv"):
            sources.setdefault(query, set()).add(document)
    return Dataset(
        folder.name, tuple(documents), queries, relevant, {query: frozenset(ids) for query, ids in sources.items()}
    )

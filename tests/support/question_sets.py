"""Question sets of the shared data in the retrieval service: one article a file, and what searches find in them."""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.collection_pb2 import EmbeddingSettings, RetrievalSettings
from footnote_kit.testing import SCOPE

from support.chunks import make_chunk
from support.library import Library
from support.shared import shared_dir


@dataclass
class QuestionSet:
    """Passages by file, and questions with the passages that answer them."""

    name: str
    passages: list[tuple[str, str, str]]
    """(id, title, text)."""
    questions: dict[str, str]
    relevant: dict[str, set[str]]

    @property
    def language(self) -> str:
        """Of questions and passages."""
        return "fr" if self.name.endswith("-fr") else "en"

    def some(self, most: int) -> list[str]:
        """Return the ids of so many questions, always the same ones."""
        chosen = sorted(self.questions)
        random.Random(13).shuffle(chosen)
        return [one for one in chosen[:most] if self.relevant[one]]


@dataclass
class Found:
    """Results of questions, as means."""

    gain: float
    """nDCG@10."""
    first: float
    limited: int
    """Questions that were searched in the file that they seemed to name, alone."""


def question_set(name: str) -> QuestionSet | None:
    """Return a set of the shared data, None if the data is missing."""
    shared = shared_dir()
    folder = shared / "data" / name if shared else None
    if folder is None or not folder.is_dir():
        return None
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, passage, _ = line.split("\t")
        relevant[query].add(passage)
    passages = [(row["_id"], row["title"] or row["_id"], row["text"] or "-") for row in _lines(folder / "corpus.jsonl")]
    questions = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl")}
    return QuestionSet(name, passages, questions, relevant)


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def filled(library: Library, questions: QuestionSet, provider: str = "builtin") -> dict[str, str]:
    """Make a collection of the set's name, embedded by a provider; return the passage of each chunk."""
    documents: dict[str, str] = {}
    ordinals: Counter[str] = Counter()
    chunks, ids = [], {}
    for passage, title, text in questions.passages:
        document = documents.setdefault(title, f"{questions.name}-{len(documents):04d}")
        filename = f"{title[:120].replace(' ', '_')}.txt"
        chunk = make_chunk(
            text, document_id=document, ordinal=ordinals[document], filename=filename, language=questions.language
        )
        ordinals[document] += 1
        ids[chunk.id] = passage
        chunks.append(chunk)
    shelf = await library.add_collection(
        questions.name, languages=(questions.language,), embedding=EmbeddingSettings(provider=provider)
    )
    for start in range(0, len(chunks), 200):
        await library.add(shelf, chunks[start : start + 200])
    return ids


async def asked(library: Library, questions: QuestionSet, ids: dict[str, str], chosen: list[str]) -> Found:
    """Search for questions; `ids` are the passages of the chunks."""
    gain = first = 0.0
    limited = 0
    for one in chosen:
        relevant = questions.relevant[one]
        found = await library.stub.Retrieve(
            pb.RetrieveRequest(
                scope=SCOPE,
                query=questions.questions[one],
                collections=[questions.name],
                settings=RetrievalSettings(limit=10),
            )
        )
        right = [place for place, scored in enumerate(found.chunks, 1) if ids[scored.chunk.id] in relevant]
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(relevant)) + 1))
        gain += sum(1 / math.log2(place + 1) for place in right) / ideal
        first += right[:1] == [1]
        limited += bool(found.strategy_choice.named_filenames)
    return Found(gain / len(chosen), first / len(chosen), limited)

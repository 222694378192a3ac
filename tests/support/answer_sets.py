"""Public question sets with a small BM25, to try the built-in answerer on without the other stages."""

import csv
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from footnote.types.v1.answer_pb2 import Source
from footnote_text.lexical import terms


@dataclass(frozen=True)
class Asked:
    """A question with its sources as retrieval would give them; `right` is the document that answers it."""

    question: str
    answers: tuple[str, ...]
    right: str
    sources: tuple[Source, ...]


class Bm25:
    """Okapi BM25 over stemmed terms, with titles counted as text."""

    def __init__(self, passages: Sequence[tuple[str, str, str]], language: str) -> None:
        self.passages = passages
        self._language = language
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        for number, (_, title, text) in enumerate(passages):
            found = Counter(terms(f"{title} {text}", language))
            self._lengths.append(sum(found.values()))
            for term, count in found.items():
                self._postings[term].append((number, count))
        self._mean = sum(self._lengths) / len(self._lengths)

    def search(self, question: str, limit: int, without: Iterable[str] = ()) -> list[tuple[int, float]]:
        scores: dict[int, float] = defaultdict(float)
        for term in set(terms(question, self._language)):
            postings = self._postings.get(term, [])
            idf = math.log(1 + (len(self.passages) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                norm = 1.2 * (0.25 + 0.75 * self._lengths[number] / self._mean)
                scores[number] += idf * count * 2.2 / (count + norm)
        hidden = tuple(without)
        ranked = sorted(
            (
                (number, score)
                for number, score in scores.items()
                if self.passages[number][0] not in hidden and self.passages[number][1] not in hidden
            ),
            key=lambda item: -item[1],
        )
        return ranked[:limit]

    def sources(self, question: str, limit: int = 5, without: Iterable[str] = ()) -> tuple[Source, ...]:
        hits = self.search(question, limit, without)
        best = hits[0][1] if hits else 1.0
        return tuple(
            Source(
                number=rank,
                chunk_id=self.passages[number][0],
                document_id=self.passages[number][0],
                filename=f"{self.passages[number][1]}.md",
                title=self.passages[number][1],
                text=self.passages[number][2],
                score=score / best,
            )
            for rank, (number, score) in enumerate(hits, start=1)
        )


@dataclass(frozen=True)
class QuestionSet:
    """A set with its index; passages of one article share its title."""

    index: Bm25
    questions: tuple[tuple[str, str, tuple[str, ...]], ...]
    titles: dict[str, str]

    def ask(self, sample: Sequence[int], without: str = "") -> list[Asked]:
        """The sampled questions; `without` "article" or "passage" leaves what answers them out of the corpus."""
        result = []
        for place in sample:
            question, right, answers = self.questions[place]
            hidden = {"article": [self.titles[right]], "passage": [right], "": []}[without]
            result.append(Asked(question, answers, right, self.index.sources(question, without=hidden)))
        return result

    def sample(self, count: int, seed: int = 13) -> list[int]:
        return random.Random(seed).sample(range(len(self.questions)), count)


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def load(folder: Path, language: str) -> QuestionSet:
    """SQuAD-13 or PIAF-fr."""
    passages = [(str(row["_id"]), str(row["title"]), str(row["text"])) for row in _lines(folder / "corpus.jsonl")]
    texts = {str(row["_id"]): str(row["text"]) for row in _lines(folder / "queries.jsonl")}
    answers = {str(row["_id"]): tuple(map(str, row["answers"])) for row in _lines(folder / "answers.jsonl")}  # type: ignore[arg-type]
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        right = {row["query-id"]: row["corpus-id"] for row in csv.DictReader(file, delimiter="\t")}
    questions = tuple((texts[key], right[key], answers[key]) for key in texts)
    return QuestionSet(Bm25(passages, language), questions, {key: title for key, title, _ in passages})


def rejection(folder: Path, half: int) -> tuple[list[Asked], list[Asked]]:
    """Chinese questions of the even (0) or odd (1) lines with their true passages, and with ones that do not answer."""
    positive, negative = [], []
    for row in _lines(folder / "zh_fact.jsonl")[half::2]:
        answer = row["answer"]
        parts = [answer] if isinstance(answer, str) else answer
        answers = tuple(str(one) for item in parts for one in (item if isinstance(item, list) else [item]))  # type: ignore[attr-defined]
        for texts, into in ((row["positive"], positive), (row["negative"], negative)):
            if texts:
                sources = tuple(
                    Source(
                        number=rank, chunk_id=str(rank), document_id=str(rank), text=str(text), score=1.0 - 0.05 * rank
                    )
                    for rank, text in enumerate(texts[:5], start=1)  # type: ignore[index]
                )
                into.append(Asked(str(row["query"]), answers, "1", sources))
    return positive, negative


def holds(answer: str, golds: Sequence[str]) -> bool:
    """Whether an answer holds one of the gold strings, spaces and case aside."""
    plain = " ".join(answer.lower().split())
    return any(" ".join(gold.lower().split()) in plain for gold in golds)

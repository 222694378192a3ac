"""Public question sets that the finder's weights are fitted on or judged by, as documents and questions.

A set is Markdown files, an article each, and questions of three cases: `given` (an article answers), `out` (the article
that answers is left out of the search) and `near` (of SQuAD 2.0: the article has the subject, and not what is asked).
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = 37


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set: its gold answers, and the file and paragraph that hold one; both empty where none does."""

    question: str
    case: str
    answers: tuple[str, ...]
    file: str
    paragraph: str
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Files by name, each its Markdown, and questions."""

    name: str
    files: dict[str, str]
    asked: tuple[Asked, ...]


def beir(name: str, folder: Path, count: int) -> QuestionSet:
    """Return a set of corpus.jsonl, queries.jsonl, qrels.tsv and answers.jsonl: SQuAD-13, PIAF."""
    passages = {row["_id"]: row for row in _lines(folder / "corpus.jsonl")}
    answers = {row["_id"]: tuple(row["answers"]) for row in _lines(folder / "answers.jsonl")}
    texts = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl")}
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        right = {row["query-id"]: row["corpus-id"] for row in csv.DictReader(file, delimiter="\t")}
    articles: dict[str, list[str]] = {}
    for row in passages.values():
        articles.setdefault(row["title"], []).append(row["text"])
    given = [
        Asked(text, "given", answers[key], _file(passages[right[key]]["title"]), passages[right[key]]["text"])
        for key, text in texts.items()
    ]
    return _set(name, articles, given, [], count)


def squad(name: str, paths: Sequence[Path], count: int) -> QuestionSet:
    """Return a set in SQuAD's own format: SQuAD 2.0, XQuAD."""
    articles: dict[str, list[str]] = {}
    given, near = [], []
    for path in paths:
        for article in json.loads(path.read_text("utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                text = paragraph["context"]
                articles.setdefault(article["title"], []).append(text)
                for one in paragraph["qas"]:
                    absent = one.get("is_impossible", False)
                    answers = () if absent else tuple(dict.fromkeys(answer["text"] for answer in one["answers"]))
                    case, file = "near" if absent else "given", _file(article["title"])
                    (near if absent else given).append(Asked(one["question"].strip(), case, answers, file, text))
    return _set(name, articles, given, near, count)


def _set(name: str, articles: dict[str, list[str]], given: list[Asked], near: list[Asked], count: int) -> QuestionSet:
    chosen = random.Random(SEED).sample(given, min(count, len(given)))
    out = [Asked(one.question, "out", (), one.file, "") for one in chosen]
    missing = random.Random(SEED).sample(near, min(count, len(near)))
    files = {_file(title): f"# {title.replace('_', ' ')}\n\n" + "\n\n".join(texts) for title, texts in articles.items()}
    return QuestionSet(name, files, (*chosen, *out, *missing))


def _file(title: str) -> str:
    return re.sub(r"[^\w.-]+", "_", title) + ".md"


def _lines(path: Path) -> Iterator[dict[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)

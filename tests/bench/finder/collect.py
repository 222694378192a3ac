"""Asks the questions of sets through the public API and keeps the sources that each answer was made from.

    PYTHONPATH=tests:tests/bench python -m finder.collect ADDRESS INTO [MORE]

ADDRESS is that of a running deployment, INTO the folder for the files of `finder.fit`. Of each set a collection with e5
is made and filled by the command line of the checkout, then asked. SQuAD-13 and PIAF, which only judge, are read from
the shared folder (FOOTNOTE_SHARED); from the folder MORE: XQuAD in four languages (xquad.en.json), SQuAD-it
(squad-it.json) and a checkout of WikiTableQuestions. For questions in another language than their passages BM25 finds
the passages by the questions of XQuAD in theirs. What is absent is named and left out.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeGuard

from finder.rows import lookups
from finder.sets import Asked, QuestionSet, beir, squad
from footnote.edge.v1.answers_pb2 import ANSWER_PART_MANIFEST, ANSWER_PART_SOURCES, AskRequest
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, ChatMessage, Source
from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub
from support.answer_sets import Bm25
from support.shared import shared_dir

_SQUADS = {"squad-it": "squad-it.json", **{f"xquad-{code}": f"xquad.{code}.json" for code in ("en", "de", "es", "zh")}}
"""Sets in SQuAD's format, and their files."""
PARTS = (ANSWER_PART_SOURCES, ANSWER_PART_MANIFEST)


async def collect(address: str, questions: QuestionSet, collection: str, into: Path, parallel: int = 4) -> None:
    """Write a line a question: what was asked, the sources as messages, and what was answered."""
    async with open_channel(address) as channel:
        stub = EdgeStub(channel)
        slots = asyncio.Semaphore(parallel)

        async def one(asked: Asked) -> str:
            async with slots:
                request = AskRequest(question=asked.question, collections=[collection], include=PARTS)
                if asked.case == "out":
                    request.filter.json = json.dumps({"filename": {"$ne": asked.file}})
                request.history.extend(ChatMessage(role=MESSAGE_ROLE_USER, text=said) for said in asked.history)
                events = [event async for event in stub.Ask(request, timeout=120)]
                done = events[-1].completed
            return json.dumps(
                {
                    **asdict(asked),
                    "question": done.manifest.full_question or asked.question,
                    "sources": _kept(done.sources),
                },
                ensure_ascii=False,
            )

        lines = await asyncio.gather(*map(one, questions.asked))
    _write(into, lines)


def _kept(sources: Iterable[Source]) -> list[str]:
    return [base64.b64encode(source.SerializeToString()).decode() for source in sources]


def _write(into: Path, lines: Iterable[str]) -> None:
    with gzip.open(into, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))


def _sets(more: Path | None) -> Iterator[QuestionSet]:
    shared = shared_dir()
    for name in ("squad-13", "piaf-fr"):
        folder = shared / "data" / name if shared else None
        if _there(name, folder):
            yield beir(name, folder, 120)
    for name, file in _SQUADS.items():
        if _there(name, more and more / file):
            yield squad(name, [more / file], 120)
    if _there("wtq", more and more / "WikiTableQuestions"):
        yield lookups("wtq", more / "WikiTableQuestions", 100)


def _there(name: str, path: Path | None) -> TypeGuard[Path]:
    there = path is not None and path.exists()
    if not there:
        print(f"{name} is left out: {path or 'its folder'} is not there")
    return there


def fill(address: str, questions: QuestionSet, collection: str) -> None:
    """Make a collection of a set's files, by the command line."""
    footnote = [sys.executable, "-m", "footnote_cli.main"]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in questions.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        create = ["collections", "create", collection, "--set", "embedding.provider=e5"]
        for arguments in (create, ["ingest", folder, "-c", collection]):
            subprocess.run([*footnote, *arguments], env={**os.environ, "FOOTNOTE_EDGE_ADDRESS": address}, check=True)


def translated(more: Path, into: Path, language: str, others: Sequence[str]) -> None:
    """Write questions of XQuAD in other languages with the passages that BM25 finds by the same questions in theirs.

    Across languages words find nothing: the score is a share of what meaning alone gives, 0.6.
    """
    questions = squad(f"xquad-{language}", [more / f"xquad.{language}.json"], 80)
    passages = [
        (f"{file}#{at}", text.split("\n", 1)[0][2:], paragraph)
        for file, text in questions.files.items()
        for at, paragraph in enumerate(text.split("\n\n")[1:])
    ]
    index = Bm25(passages, language)
    found = []
    for asked in questions.asked:
        hidden = [questions.files[asked.file].split("\n", 1)[0][2:]] if asked.case == "out" else []
        sources = index.sources(asked.question, 5, hidden)
        for source in sources:
            source.filename = source.chunk_id.partition("#")[0]
        found.append((asked, sources))
    ids = {question: key for key, question in _questions(more, language).items()}
    for other in others:
        said = _questions(more, other)
        for _, sources in found if other == others[0] else ():
            for source in sources:
                source.score *= 0.6
        lines = [_line(asked, said[ids[asked.question]], sources) for asked, sources in found]
        _write(into / f"xl-{other}-{language}.gz", lines)


def _line(asked: Asked, question: str, sources: Iterable[Source]) -> str:
    return json.dumps({**asdict(asked), "question": question, "sources": _kept(sources)}, ensure_ascii=False)


def _questions(more: Path, language: str) -> dict[str, str]:
    data = json.loads((more / f"xquad.{language}.json").read_text("utf-8"))["data"]
    found = (one for article in data for paragraph in article["paragraphs"] for one in paragraph["qas"])
    return {one["id"]: one["question"].strip() for one in found}


def main(address: str, into: Path, more: Path | None) -> None:
    """Write a file a set and way of searching."""
    into.mkdir(parents=True, exist_ok=True)
    for questions in _sets(more):
        collection = f"{questions.name}-e5"
        fill(address, questions, collection)
        asyncio.run(collect(address, questions, collection, into / f"{collection}.gz"))
    if more and all(_there(f"xquad-{one}", more / f"xquad.{one}.json") for one in ("de", "zh", "en", "es")):
        translated(more, into, "de", ["es"])
        translated(more, into, "zh", ["en", "de"])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)

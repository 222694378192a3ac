"""Quality of searches through the retrieval service, over articles whose titles are the names of their files.

Sets by FOOTNOTE_BENCH_SETS, "squad-13,piaf-fr" unless set (cranfield too: a file an abstract), so many questions of
each by FOOTNOTE_BENCH_QUESTIONS, always the same ones. The titles are words of the questions: what a file's name is
allowed to do to an ordinary question shows here. A difference under 0.01 at 600 questions is noise.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.collection_pb2 import RetrievalSettings
from footnote_kit.testing import SCOPE
from rich.console import Console
from support.chunks import make_chunk
from support.engine import running_engine
from support.library import open_library
from support.shared import shared_dir

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

SETS = os.environ.get("FOOTNOTE_BENCH_SETS", "squad-13,piaf-fr").split(",")
QUESTIONS = int(os.environ.get("FOOTNOTE_BENCH_QUESTIONS", "600"))
# As measured when these were written, less 0.02.
LEAST = {"squad-13": 0.86, "piaf-fr": 0.80}


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_engine(tmp_path_factory.mktemp("engine")) as address:
        yield address


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", SETS)
async def test_what_is_found(uri: str, name: str) -> None:
    shared = shared_dir()
    folder = shared / "data" / name if shared else None
    if folder is None or not folder.is_dir():
        pytest.skip(f"the shared data with {name} is not here")
    language = "fr" if name.endswith("-fr") else "en"
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, passage, _ = line.split("\t")
        relevant[query].add(passage)
    documents: dict[str, str] = {}
    ordinals: Counter[str] = Counter()
    chunks, ids = [], {}
    for row in lines(folder / "corpus.jsonl"):
        document = documents.setdefault(row["title"] or row["_id"], f"{name}-{len(documents):04d}")
        filename = f"{(row['title'] or row['_id'])[:120].replace(' ', '_')}.txt"
        chunk = make_chunk(
            row["text"] or "-", document_id=document, ordinal=ordinals[document], filename=filename, language=language
        )
        ordinals[document] += 1
        ids[chunk.id] = row["_id"]
        chunks.append(chunk)
    questions = {row["_id"]: row["text"] for row in lines(folder / "queries.jsonl")}
    chosen = sorted(questions)
    random.Random(13).shuffle(chosen)
    chosen = [one for one in chosen[:QUESTIONS] if relevant[one]]
    gain = first = limited = 0.0
    async with open_library(uri) as library:
        shelf = await library.add_collection(name, languages=(language,))
        for start in range(0, len(chunks), 200):
            await library.add(shelf, chunks[start : start + 200])
        for one in chosen:
            found = await library.stub.Retrieve(
                pb.RetrieveRequest(
                    scope=SCOPE, query=questions[one], collections=[name], settings=RetrievalSettings(limit=10)
                )
            )
            right = [place for place, scored in enumerate(found.chunks, 1) if ids[scored.chunk.id] in relevant[one]]
            ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(relevant[one])) + 1))
            gain += sum(1 / math.log2(place + 1) for place in right) / ideal
            first += right[:1] == [1]
            limited += bool(found.strategy_choice.named_filenames)
    count = len(chosen)
    Console(width=120).print(
        f"{name}: {count} questions, {len(documents)} files: nDCG@10 {gain / count:.4f}, first {first / count:.4f}, "
        f"limited to a file {limited:.0f}"
    )
    assert gain / count >= LEAST.get(name, 0.0)

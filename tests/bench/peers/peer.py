"""What a peer's script speaks with the driver: a JSON object a line each way. Needs numpy, nothing of Footnote."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np

TOP = 5


class Peer(Protocol):
    """A store of texts with vectors, and its own hybrid search."""

    def ingest(self, texts: Sequence[str], vectors: Any) -> None:
        """Take in texts with their vectors, shape (n, 384), until both kinds of search find them."""

    def search(self, text: str, vector: Any) -> int:
        """Search by words and by the vector, as it fuses them itself; return how many of the best 5 it found."""


class Known:
    """What embeds by looking up: every text that will come is known beforehand, with its vector."""

    def __init__(self) -> None:
        self._vectors: dict[str, list[float]] = {}

    def add(self, texts: Sequence[str], vectors: Any) -> None:
        """Learn vectors."""
        self._vectors.update(zip(texts, vectors.tolist(), strict=True))

    def __getitem__(self, text: str) -> list[float]:
        return self._vectors[text]


def main(make: Callable[[Path, Known], Peer]) -> None:
    """Do what the driver says until it says no more; the first argument is a folder to keep things in."""
    # What libraries print must not come between the lines.
    out, sys.stdout = sys.stdout, sys.stderr
    known = Known()
    peer = make(Path(sys.argv[1]), known)
    for line in sys.stdin:
        print(json.dumps(_do(peer, known, json.loads(line))), file=out, flush=True)


def _do(peer: Peer, known: Known, order: dict[str, Any]) -> dict[str, float | list[float]]:
    texts = json.loads(Path(order["texts"]).read_text(encoding="utf-8"))
    vectors = np.load(order["vectors"])
    known.add(texts, vectors)
    if order["do"] == "ingest":
        began, used = time.perf_counter(), time.process_time()
        peer.ingest(texts, vectors)
        return {"seconds": time.perf_counter() - began, "processor": time.process_time() - used}

    def search(at: int) -> None:
        if peer.search(texts[at % len(texts)], vectors[at % len(texts)]) < 1:
            raise AssertionError("it found nothing: there is nothing to measure")

    if order["do"] == "search":
        for at in range(5):
            search(at)
        used, taken = time.process_time(), []
        for at in range(order["count"]):
            began = time.perf_counter()
            search(at)
            taken.append(time.perf_counter() - began)
        return {"times": taken, "processor": time.process_time() - used}
    end, done = time.perf_counter() + order["seconds"], [0] * order["threads"]

    def caller(mine: int) -> None:
        at = mine
        while time.perf_counter() < end:
            search(at)
            at += order["threads"]
            done[mine] += 1

    began = time.perf_counter()
    with ThreadPoolExecutor(order["threads"]) as threads:
        for one in [threads.submit(caller, mine) for mine in range(order["threads"])]:
            one.result()
    return {"rate": sum(done) / (time.perf_counter() - began)}

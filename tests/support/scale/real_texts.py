"""Files and questions for measurements: real sentences, the same in each run."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from support.shared import shared_dir

BYTES = 33_000


def _set() -> Path:
    shared = shared_dir()
    folder = shared / "data" / "squad-13" if shared is not None else Path("-")
    if not folder.exists():
        pytest.skip("the corpora are not here: set FOOTNOTE_SHARED")
    return folder


def texts(number: int) -> list[str]:
    """Return so many files of 33 kB."""
    passages = [json.loads(line)["text"] for line in (_set() / "corpus.jsonl").read_text().splitlines()]
    rng = random.Random(1)
    made = []
    for _ in range(number):
        parts: list[str] = []
        while sum(map(len, parts)) < BYTES:
            parts.append(rng.choice(passages))
        made.append("\n\n".join(parts)[:BYTES])
    return made


def questions() -> list[str]:
    """Return what is asked."""
    return [json.loads(line)["text"] for line in (_set() / "queries.jsonl").read_text().splitlines()]

"""What the bench's files are made of: real passages where they lie beside the checkout, else made sentences."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from support.shared import shared_dir

_SYLLABLES = (
    "al",
    "ber",
    "cor",
    "den",
    "er",
    "fin",
    "gra",
    "hol",
    "in",
    "ker",
    "lan",
    "mor",
    "nes",
    "or",
    "per",
    "ris",
)
_ENDINGS = ("", "s", "ed", "ing", "ion", "al", "er")
_SMALL_WORDS = ("the", "of", "and", "to", "in", "a", "is", "that", "for", "was", "on", "with", "as", "by", "from", "at")
_WORDS = 20_000
_PASSAGES = 1_500


@dataclass(frozen=True)
class Texts:
    """Passages and questions; `source` says on the page where they are from."""

    source: str
    passages: tuple[str, ...]
    questions: tuple[str, ...]

    def text(self, number: int, size: int) -> str:
        """Return a text of so many bytes at most, and nearly as many; every number gives another."""
        rng = random.Random(number)
        parts = [f"File {number}."]
        length = len(parts[0])
        while length < size:
            parts.append(rng.choice(self.passages))
            length += len(parts[-1].encode()) + 2
        return "\n\n".join(parts).encode()[:size].decode(errors="ignore")


def find_texts() -> Texts:
    """Return the shared corpus where it is there, else made texts."""
    shared = shared_dir()
    folder = shared / "data" / "squad-13" if shared is not None else Path("-")
    if not (folder / "corpus.jsonl").is_file():
        return made_texts()
    passages, questions = (
        tuple(json.loads(line)["text"] for line in (folder / name).read_text("utf-8").splitlines())
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    return Texts("encyclopedia articles (SQuAD-13)", passages, questions)


def made_texts(seed: int = 1) -> Texts:
    """Return texts made by a seed: small words, and a vocabulary whose n-th word is 1/n as frequent as its first."""
    rng = random.Random(seed)
    words = list({"".join(rng.choices(_SYLLABLES, k=rng.randint(1, 3))) + rng.choice(_ENDINGS) for _ in range(_WORDS)})
    words.sort(key=lambda word: (len(word), word))

    def sentence() -> str:
        said = []
        for _ in range(rng.randint(8, 24)):
            common = rng.random() < 0.4
            said.append(rng.choice(_SMALL_WORDS) if common else words[int(len(words) ** rng.random()) - 1])
        return " ".join(said).capitalize() + "."

    passages = tuple(" ".join(sentence() for _ in range(rng.randint(4, 8))) for _ in range(_PASSAGES))
    questions = tuple(
        "What " + " ".join(rng.choice(passages).split()[3:10]).strip(".").lower() + "?" for _ in range(500)
    )
    return Texts("texts made by a seeded generator, not by people", passages, questions)

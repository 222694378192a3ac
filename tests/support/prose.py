"""Counts words in the prose of our own code, its comments and docstrings: `PYTHONPATH=tests python -m support.prose`.

The result is a table of uses per 10,000 words. `WORDS` names what is counted: words of our own make, of which there
should be next to none, and standard terms.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support import code

STANDARD = "retry, cache, lock, queue, timeout"
WORDS = {
    "told, tell": r"told|tells?|telling|untold",
    "nobody, whoever, somebody": r"nobody|whoever|somebody|whomever",
    STANDARD: (r"retr(?:y|ies|ied|ying)|cache[sd]?|caching|lock(?:s|ed|ing)?|queue[sd]?|queuing|time-?outs?"),
}
"""What is counted: a name of the group, and the pattern of its words."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of prose: one line of a comment or docstring, with the line's number from 1."""

    file: Path
    line: int
    text: str


def prose(file: Path) -> Iterator[Sentence]:
    """Yield a file's comments and docstrings, those of attributes included, line by line."""
    source = file.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Sentence(file, token.start[0], token.string.lstrip("# "))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number, line in enumerate(node.value.value.splitlines()):
                yield Sentence(file, node.lineno + number, line)


def found(sentences: list[Sentence], pattern: str) -> list[Sentence]:
    """Return an entry for each use of a pattern's words."""
    compiled = re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    return [one for one in sentences for _ in compiled.findall(one.text)]


def words(sentences: list[Sentence]) -> int:
    """Return how many words there are."""
    return sum(len(_WORD.findall(one.text)) for one in sentences)


def rate(sentences: list[Sentence], pattern: str) -> float:
    """Return the uses of a pattern's words per 10,000 words."""
    return len(found(sentences, pattern)) / words(sentences) * 10_000


def everything() -> list[Sentence]:
    """Return the prose of services and libraries, and of the client beside the generated code."""
    client = sorted((code.ROOT / "libs/contracts/src/footnote/client").glob("*.py"))
    return [one for file in (*code.ours(), *client) for one in prose(file)]


def main() -> None:
    """Print the table; with `--where`, also each use of the words of our own make."""
    sentences = everything()
    print(f"{words(sentences)} words")
    for name, pattern in WORDS.items():
        uses = found(sentences, pattern)
        print(f"{rate(sentences, pattern):6.1f}  {len(uses):5}  {name}")
        if "--where" in sys.argv and name != STANDARD:
            print("\n".join(f"{one.file.relative_to(code.ROOT)}:{one.line}: {one.text.strip()}" for one in uses))


if __name__ == "__main__":
    main()

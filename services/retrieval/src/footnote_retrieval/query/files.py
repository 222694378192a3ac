"""Files named in the question: a search that names one is limited to it, one that names two brings chunks of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

from footnote_text.lexical import fold

_TOKEN = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_EXTENSION = re.compile(r"\.\w{1,5}$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST_RUN = 40  # words of a file name that a question may name
# Words beside which even a plain one-word name is meant as a file: "the file handbook", "fichier stock".
_CUES = frozenset(
    """file files document documents doc pdf spreadsheet sheet workbook deck slides presentation report paper fichier
    fichiers feuille classeur rapport diaporama datei dokument tabelle archivo documento fichero hoja bestand""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that the question names, and the documents that carry that name."""

    filename: str
    document_ids: tuple[str, ...]


@lru_cache(maxsize=8192)
def _parts(filename: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens of a file name without and with its extension, folded."""
    stem, _, extension = filename.rpartition(".")
    if not stem:
        stem, extension = filename, ""
    tokens = tuple(_TOKEN.findall(fold(_CAMEL.sub(" ", stem))))
    return tokens, (*tokens, fold(extension)) if extension else tokens


def pieces(text: str) -> list[str]:
    """Return the words and numbers of a text in order, folded; a number ends a word."""
    return _PIECE.findall(fold(text))


@lru_cache(maxsize=8192)
def name_pieces(filename: str) -> frozenset[str]:
    """Return the words and numbers of a file name: "AMCOR_2023Q4.pdf" gives amcor, 2023, q, 4."""
    return frozenset(pieces(_EXTENSION.sub("", filename)))


class _Words(Sequence[str]):
    """The words of a question, in which runs of words are found without reading it again for each."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = tuple(words)
        self._runs: dict[int, dict[tuple[str, ...], int]] = {}

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._words[index]

    def find(self, wanted: Sequence[str]) -> int:
        """Return where `wanted` stands first as a run; -1 when it doesn't."""
        size = len(wanted)
        if size > _LONGEST_RUN:
            return -1
        if size not in self._runs:
            runs: dict[tuple[str, ...], int] = {}
            for start in range(len(self._words) - size + 1):
                runs.setdefault(self._words[start : start + size], start)
            self._runs[size] = runs
        return self._runs[size].get(tuple(wanted), -1)


def effort(filenames: Mapping[str, str]) -> int:
    """Return how much work it is to make FileNames, as characters of a text that would be as much to analyse."""
    return 10 * len(filenames)


def _joined(filename: str) -> str:
    return fold(filename.rpartition(".")[0] or filename)


class FileNames:
    """The names of the files that a search may find, looked up by their words: a question never walks over them all."""

    def __init__(self, filenames: Mapping[str, str]) -> None:
        """Take document id to file name."""
        by_name: dict[str, list[str]] = {}
        for document_id, filename in filenames.items():
            by_name.setdefault(filename, []).append(document_id)
        self.documents = {name: tuple(sorted(ids)) for name, ids in by_name.items()}
        """File name to the documents that carry it."""
        self.by_piece: dict[str, set[str]] = {}
        """Words and numbers to the names that hold them."""
        self._by_start: dict[str, set[str]] = {}
        for name in self.documents:
            for piece in name_pieces(name):
                self.by_piece.setdefault(piece, set()).add(name)
            stem, _ = _parts(name)
            if stem:
                for start in (stem[0], _joined(name)):
                    self._by_start.setdefault(start, set()).add(name)

    def __len__(self) -> int:
        return len(self.documents)

    def beginning_with(self, tokens: Iterable[str]) -> list[str]:
        """Return the names whose first word is one of these."""
        return sorted(set().union(*(self._by_start.get(token, set()) for token in tokens)))


def effort_of_naming(query: str, names: FileNames) -> int:
    """Return the same for `named_files`: many names may begin with a word of a short question."""
    return len(query) + 4 * len(names.beginning_with(_TOKEN.findall(fold(query[:1000]))))


def named_files(query: str, names: FileNames) -> list[NamedFile]:
    """Return the files that a question names, in order of appearance.

    Case, accents and separators do not matter. A name without its extension counts when it has at least two words, or
    a digit in it, or stands beside a word such as "file"; otherwise a file "policy.pdf" would catch every question
    about policy.
    """
    tokens = _Words(_TOKEN.findall(fold(_CAMEL.sub(" ", query))))
    plain = _Words(_TOKEN.findall(fold(query)))
    found: list[tuple[int, int, NamedFile]] = []
    for filename in names.beginning_with({*tokens, *plain}):
        stem, full = _parts(filename)
        at, size = _place(tokens, plain, stem, full, (_joined(filename),))
        if at >= 0:
            found.append((at, size, NamedFile(filename, names.documents[filename])))
    # "annual report 2023" names annual_report_2023.pdf, not annual_report.pdf as well.
    best: list[NamedFile] = []
    reached, widest = 0, (-1, 0)
    for at, size, file in sorted(found, key=lambda entry: (entry[0], -entry[1])):
        if at + size > reached:
            reached, widest = at + size, (at, size)
        elif (at, size) != widest:
            continue  # inside another
        best.append(file)
    return best


def _place(
    tokens: _Words, plain: _Words, stem: Sequence[str], full: Sequence[str], joined: Sequence[str]
) -> tuple[int, int]:
    """Return where the name stands in the question and how many tokens it takes; (-1, 0) when it isn't there."""
    if len(full) > len(stem):
        at = tokens.find(full)
        if at >= 0:
            return at, len(full)
    at = tokens.find(stem)
    if at < 0 and len(joined[0]) >= 4:
        at = plain.find(joined)
        if at >= 0:
            return (at, 1) if _distinct(joined) or _cued(plain, at, 1) else (-1, 0)
    if at < 0:
        return -1, 0
    size = len(stem)
    if _distinct(stem) or _cued(tokens, at, size):
        return at, size
    return -1, 0


def _distinct(stem: Sequence[str]) -> bool:
    """Tell whether a name without extension is unlikely to be meant as plain words."""
    if len(stem) >= 2:
        return sum(map(len, stem)) >= 6
    return len(stem[0]) >= 4 and any(c.isdigit() for c in stem[0]) and any(c.isalpha() for c in stem[0])


def _cued(tokens: Sequence[str], at: int, size: int) -> bool:
    around = [*tokens[max(0, at - 1) : at], *tokens[at + size : at + size + 1]]
    return any(token in _CUES for token in around)

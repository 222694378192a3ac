"""Files named in the question: one name limits the search to that file, two bring chunks of both; a whole file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from footnote_text import intents
from footnote_text.lexical import fold, word_set
from footnote_text.scripts import UNSPACED

from footnote_retrieval.query.understanding import quoted

# A name may touch words of a script without spaces: "policy.txt里有什么".
_TOKEN = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_EXTENSION = re.compile(r"\.\w{1,5}$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST_RUN = 40  # words of a file name that a question may name
_MOST_PLACES = 100  # maximum occurrences of the same words in a question that are checked for being a name
_JOINING = ("-", "_")
EXTENSIONS = word_set(
    "txt md markdown mdx html htm xhtml csv tsv tab pdf doc docx ppt pptx xls xlsx xlsb ods odt odp epub rtf eml msg "
    "png jpg jpeg tif tiff webp"
)
"""File extensions that ingestion reads; a question with one of them means a document."""
_FILE_LIKE = re.compile(r"(?<![\w.@/\\-])[^\W_][\w-]{0,120}(?:\.[\w-]{1,120}){0,5}\.([A-Za-z]{2,8})(?![\w@/-])")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that the question names, and the documents that carry that name."""

    filename: str
    document_ids: tuple[str, ...]


def pieces(text: str) -> list[str]:
    """Return the words and numbers of a text in order, folded; a number ends a word."""
    return _PIECE.findall(fold(text))


@lru_cache(maxsize=8192)
def name_pieces(filename: str) -> frozenset[str]:
    """Return the words and numbers of a file name: "AMCOR_2023Q4.pdf" gives amcor, 2023, q, 4."""
    return frozenset(pieces(_EXTENSION.sub("", filename)))


def words_of_name(filename: str) -> frozenset[str]:
    """Return the folded words of a file name, extension included: in "employeeHandbook.pdf" also "handbook"."""
    return frozenset((*_TOKEN.findall(fold(filename)), *_TOKEN.findall(fold(_CAMEL.sub(" ", filename)))))


@dataclass(frozen=True, slots=True)
class _Words:
    """The folded words of a text, and the gaps before, between and after them: one gap more than words."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    _runs: dict[int, dict[tuple[str, ...], list[int]]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, text: str) -> _Words:
        """Parse a text."""
        folded = fold(text)
        words, gaps, end = [], [], 0
        for match in _TOKEN.finditer(folded):
            words.append(match[0])
            gaps.append(folded[end : match.start()])
            end = match.end()
        return cls(tuple(words), (*gaps, folded[end:]))

    def places(self, wanted: tuple[str, ...]) -> list[int]:
        """Return where `wanted` occurs as a run, without reading the text again for each name."""
        size = len(wanted)
        if not 0 < size <= _LONGEST_RUN:
            return []
        if size not in self._runs:
            runs: dict[tuple[str, ...], list[int]] = {}
            for start in range(len(self.words) - size + 1):
                runs.setdefault(self.words[start : start + size], []).append(start)
            self._runs[size] = runs
        return self._runs[size].get(wanted, [])[:_MOST_PLACES]

    def alone(self, start: int, size: int) -> bool:
        """Return whether a run is not part of a longer name: "my-report.pdf" is not "report.pdf"."""
        return not self.gaps[start].endswith(_JOINING) and not self.gaps[start + size].startswith(_JOINING)


@dataclass(frozen=True, slots=True)
class _Written:
    """A file name in its written forms: words without extension, the gaps between them, and the extension."""

    stem: tuple[str, ...]
    gaps: tuple[str, ...]
    extension: str

    @classmethod
    @lru_cache(maxsize=8192)
    def of(cls, filename: str, *, split: bool) -> _Written:
        """Parse a file name; with splitting, "employeeHandbook" is two words, else one."""
        stem, _, extension = filename.rpartition(".")
        if not stem:
            stem, extension = filename, ""
        words = _Words.of(_CAMEL.sub(" ", stem) if split else stem)
        return cls(words.words, words.gaps[1:-1], fold(extension))

    def place(self, asked: _Words) -> tuple[int, int]:
        """Return where a question writes it as a name, and its number of words; (-1, 0) if it does not."""
        size = len(self.stem)
        if self.extension:
            for at in asked.places((*self.stem, self.extension)):
                if asked.gaps[at + size] == "." and asked.alone(at, size + 1):
                    return at, size + 1
        if any("_" in gap for gap in self.gaps):
            for at in asked.places(self.stem):
                if asked.gaps[at + 1 : at + size] == self.gaps and asked.alone(at, size):
                    return at, size
        return -1, 0


def effort(filenames: Mapping[str, str]) -> int:
    """Return the cost of building FileNames, as a number of characters to analyse."""
    return 10 * len(filenames)


class FileNames:
    """The names of the files that a search may find, indexed by words, so that a question never scans them all."""

    def __init__(self, filenames: Mapping[str, str], *, complete: bool = False) -> None:
        """Take document id to file name; `complete` means that these are all the files."""
        self.complete = complete
        by_name: dict[str, list[str]] = {}
        for document_id, filename in filenames.items():
            by_name.setdefault(filename, []).append(document_id)
        self.documents = {name: tuple(sorted(ids)) for name, ids in by_name.items()}
        """File name to the documents that carry it."""
        self.by_piece: dict[str, set[str]] = {}
        """Words and numbers to the names that contain them."""
        self._by_start: dict[str, set[str]] = {}
        for name in self.documents:
            for piece in name_pieces(name):
                self.by_piece.setdefault(piece, set()).add(name)
            for split in (True, False):
                for start in _Written.of(name, split=split).stem[:1]:
                    self._by_start.setdefault(start, set()).add(name)

    def __len__(self) -> int:
        return len(self.documents)

    def beginning_with(self, tokens: Iterable[str]) -> list[str]:
        """Return the names whose first word is one of these."""
        return sorted(set().union(*(self._by_start.get(token, set()) for token in tokens)))


def effort_of_naming(query: str, names: FileNames) -> int:
    """Return the cost of `named_files` likewise: many names may begin with a word of a short question."""
    return len(query) + 4 * len(names.beginning_with(_TOKEN.findall(fold(query[:1000]))))


def named_files(query: str, names: FileNames) -> list[NamedFile]:
    """Return the files that a question names, in order of appearance: the search is limited to these.

    A question names a file by its name with extension ("travel-policy.md"), or by its name in quotes, with or without
    extension. The bare name counts if no prose is written like it (with "_": "BOEING_2022_10K"). Case and accents do
    not matter. Anything else that sounds like a name only raises scores (`affinities`).
    """
    readings = [(_Words.of(_CAMEL.sub(" ", query)), True), (_Words.of(query), False)]
    in_quotes = {_Words.of(_CAMEL.sub(" ", phrase)).words for phrase in quoted(query)}
    in_quotes |= {_Words.of(phrase).words for phrase in quoted(query)}
    found: list[tuple[int, int, NamedFile]] = []
    for filename in names.beginning_with({word for asked, _ in readings for word in asked.words}):
        for asked, split in readings:
            written = _Written.of(filename, split=split)
            at, size = written.place(asked)
            for run in (written.stem, (*written.stem, written.extension)):
                if at < 0 and run in in_quotes:
                    at, size = asked.places(run)[0] if asked.places(run) else 0, len(run)
            if at >= 0:
                found.append((at, size, NamedFile(filename, names.documents[filename])))
                break
    # "annual report 2023.pdf" names annual_report_2023.pdf, not 2023.pdf as well.
    best: list[NamedFile] = []
    reached, widest = 0, (-1, 0)
    for at, size, file in sorted(found, key=lambda entry: (entry[0], -entry[1])):
        if at + size > reached:
            reached, widest = at + size, (at, size)
        elif (at, size) != widest:
            continue  # inside another
        best.append(file)
    return best


def missing_files(query: str, names: FileNames) -> list[str]:
    """Return the file names in a question that no document carries, as written; none if the names are incomplete.

    Only one word with the extension of a document counts, written like a file's name: "lease-2024.pdf".
    """
    written = list(_FILE_LIKE.finditer(query)) if names.complete else []
    if not written:
        return []
    known = {fold(name) for name in names.documents}
    ends = EXTENSIONS | {name.rpartition(".")[2] for name in known}
    found = [match[0] for match in written if match[1].lower() in ends]
    named = [name for file in named_files(query, names) for name in (fold(file.filename),)]
    return list(
        dict.fromkeys(
            one for one in found if fold(one) not in known and not any(name.endswith(fold(one)) for name in named)
        )
    )


_LONGEST = 300  # characters; a longer question says what it seeks


def asks_for_whole(query: str, named: Sequence[NamedFile]) -> bool:
    """Return whether a question names files and nothing to look for in them.

    Besides the names it has only what `intents.seeks_nothing` allows. A name alone is such a question.
    """
    if not named or len(query) > _LONGEST:
        return False
    text = fold(query)
    for file in named:
        text = text.replace(fold(file.filename), " ")
    names = set(chain.from_iterable(words_of_name(file.filename) for file in named))
    rest = " ".join(word for word in intents.plain(text).split() if word not in names)
    return intents.seeks_nothing(rest)


def first_documents(named: Sequence[NamedFile], document_ids: Iterable[str]) -> list[str]:
    """Return, for each named file in order, its first document among these."""
    owner = {document_id: index for index, file in enumerate(named) for document_id in file.document_ids}
    first: dict[int, str] = {}
    for document_id in document_ids:
        if document_id in owner:
            first.setdefault(owner[document_id], document_id)
    return [first[index] for index in sorted(first)]

"""Measures which columns words in other languages are read as, by the least likeness and lead.

    PYTHONPATH=tests/bench python -m tables_reading.likened FOLDER VECTORS.npz

FOLDER has unpacked distributions of Tryton's modules (trytond_party and others). Their translations give the labels of
each model's fields in several languages: 5 to 10 fields of a model are the columns of a table, a label of one word in
another language is the question's. Printed is how often the right column is taken, another one, and one where the right
column is left out of the table.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from footnote_generation.extractive import table_reading
from footnote_ingestion.tables import candidates, forms
from footnote_ingestion.tables.candidates import Reading
from tables_reading.vectors import COSINES, Cache

LANGUAGES = {"de": "de", "fr": "fr", "es": "es", "it": "it", "nl": "nl", "pt": "pt", "zh_CN": "zh"}
ASKED, OF_COLUMNS = ("en", "de", "fr", "es", "it", "nl", "pt"), ("en", "en", "de", "fr", "es", "zh")
OF_EACH, SEED = 14, 7
LEVELS, LEADS = (1.0, 1.1, 1.2, 1.3, 1.5), (0.15, 0.2, 0.25, 0.3)
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Case:
    """A word, the names of columns, and the place of the one that it means."""

    word: str
    columns: tuple[str, ...]
    right: int


def cases(folder: Path) -> Iterator[Case]:
    """Yield words and columns, the same for the same folder."""
    labels: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for file in sorted(folder.rglob("locale/*.po")):
        if (language := LANGUAGES.get(file.stem)) is not None:
            for model, name, english, label in _fields(file):
                labels[model][name] |= {"en": english, language: label}
    chance = random.Random(SEED)
    for _, fields in sorted(labels.items()):
        names = sorted(one for one in fields if len(fields[one]) >= len(LANGUAGES) - 1)
        for _ in range(OF_EACH if len(names) >= 5 else 0):
            there, asked = chance.choice(OF_COLUMNS), chance.choice(ASKED)
            chosen = chance.sample(names, min(len(names), chance.randint(5, 10)))
            columns = tuple(fields[one].get(there, "") for one in chosen)
            words = [fields[one].get(asked, "") for one in chosen]
            single = [at for at, one in enumerate(words) if _WORD.fullmatch(one) and one.lower() != columns[at].lower()]
            if there != asked and all(columns) and len({one.lower() for one in columns}) == len(columns) and single:
                at = chance.choice(single)
                yield Case(words[at], columns, at)


def _fields(file: Path) -> Iterator[tuple[str, str, str, str]]:
    for entry in file.read_text("utf-8").split("\n\n"):
        said = dict(re.findall(r'(?m)^(msgctxt|msgid|msgstr) "(.*)"$', entry))
        context = said.get("msgctxt", "")
        if context.startswith("field:") and said.get("msgstr") and "#, fuzzy" not in entry:
            model, _, name = context.removeprefix("field:").partition(",")
            yield model, name, said["msgid"], said["msgstr"]


def taken(word: str, columns: tuple[str, ...], vectors: Cache) -> int:
    """Return the place of the column that a word is read as, -1 for none."""
    of_columns = vectors.of(columns)
    made = table_reading.reading(of_columns[0], [word], vectors.of([word]), columns, of_columns, COSINES)
    found = Reading.of(made).likened(forms.tokens(word), dict(enumerate(columns)))
    return next(iter(found.values()), -1)


def main(folder: Path, cache: Path) -> None:
    """Print the shares for each least likeness and lead."""
    vectors, every = Cache(cache), list(cases(folder))
    vectors.of(sorted({one for case in every for one in (case.word, *case.columns)}))
    print(f"{len(every)} words")
    for candidates.LEVEL in LEVELS:
        for candidates.LEAD in LEADS:
            found = [taken(one.word, one.columns, vectors) for one in every]
            right = sum(at == one.right for at, one in zip(found, every, strict=True))
            wrong = len(every) - right - found.count(-1)
            without = [(*one.columns[: one.right], *one.columns[one.right + 1 :]) for one in every]
            absent = [taken(one.word, left, vectors) >= 0 for one, left in zip(every, without, strict=True)]
            print(
                f"  {candidates.LEVEL} {candidates.LEAD}: right {right / len(every):.3f}, "
                f"wrong {wrong / len(every):.3f}, absent {sum(absent) / len(every):.3f}"
            )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

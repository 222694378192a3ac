"""Starts a deployment from an earlier release's data, and records in the model what that release acknowledged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from footnote.edge.v1.answers_pb2 import RATING_UP
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER
from footnote.types.v1.collection_pb2 import Collection

from support.harness import reference_model as model
from support.harness.reference_model import Possible, ReferenceModel
from support.harness.tables import FILES, Rows
from support.states import texts, unpack

USER = "local"
"""The local user, who owns everything in the states."""
OWN_ROWS = 4
OWN_DIMENSIONS = 4
DIMENSIONS = 384
"""The default vector length in those releases."""


def begin(folder: Path, state: str, world: ReferenceModel) -> None:
    """Unpack a state in place of an empty folder, and record its content in the model."""
    aside = folder.with_name(f"{folder.name}-state")
    data, kept = unpack(state, aside)
    folder.rmdir()
    data.rename(folder)
    made = {
        name: model.Collection(
            name, one, Possible(kept.description), Possible(dimensions), Possible(kept.settings.chunking.size)
        )
        for one, name, stored in _read(folder, "indexing", "SELECT id, name, data FROM indexing_collections")
        for kept in [Collection.FromString(stored)]
        for dimensions in [OWN_DIMENSIONS if name == "stars" else DIMENSIONS]
    }
    world.collections += made.values()
    contents = {**texts.TEXTS, "mill.md": texts.TEXTS["mill.md"] + texts.ADDED}
    for name, text in contents.items():
        content = Possible(text.encode())
        one = model.Document(name, made["river"], content, kept["documents"][name], Possible("water"))
        world.documents.append(one)
    rows = {f"own-{number}": f"Star number {number} is called Vega{number}." for number in range(OWN_ROWS)}
    world.rows[made["stars"].id] = {name: Possible(text) for name, text in rows.items()}
    world.alone |= rows.keys()
    world.conversations += _conversations(folder, kept)
    found = _read(folder, "edge", "SELECT id FROM api_keys")
    world.keys += [model.Key(one, "") for (one,) in found]


def _conversations(folder: Path, kept: dict[str, Any]) -> list[model.Conversation]:
    titles = dict(_read(folder, "edge", "SELECT id, title FROM conversations"))
    said = {row[0]: row[1:] for row in _read(folder, "edge", "SELECT id, role, text FROM messages")}
    questions = []
    for question, answer in zip(kept["messages"][::2], kept["messages"][1::2], strict=True):
        role, text = said[question]
        assert role == MESSAGE_ROLE_USER
        questions.append(model.Question(text, question, answer))
    questions[-1].rating = Possible(RATING_UP)
    talk, empty = kept["conversation"], kept["empty"]
    return [
        model.Conversation(talk, Possible(titles[talk]), questions),
        model.Conversation(empty, Possible(titles[empty])),
    ]


def _read(folder: Path, of: str, query: str) -> Rows:
    with closing(sqlite3.connect(folder / FILES[of])) as connection:
        return connection.execute(query).fetchall()

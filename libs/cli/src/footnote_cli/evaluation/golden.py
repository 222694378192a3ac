"""Golden questions: what to ask of a corpus, and what the answer must contain, one JSON object per line."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER, MessageRole
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from footnote_cli.evaluation.dataset import DatasetError

_ROLES: Mapping[str, MessageRole.ValueType] = {"user": MESSAGE_ROLE_USER, "assistant": MESSAGE_ROLE_ASSISTANT}
_LEAST_PATTERN = 3  # "/x/"

Text = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Message(_Strict):
    """A message of the earlier conversation, used as written."""

    role: Literal["user", "assistant"]
    text: Text

    @property
    def number(self) -> MessageRole.ValueType:
        """The role's number in the API."""
        return _ROLES[self.role]


class Footnote(_Strict):
    """A file, and a place in it ("page 3", "Stocks!C12"), that one of the footnotes must name; `or` lists others."""

    file: Text
    place: str = ""
    others: tuple[Footnote, ...] = Field(default=(), alias="or")

    @property
    def alternatives(self) -> tuple[Footnote, ...]:
        """Itself and the alternatives, any of which is accepted."""
        return (self, *self.others)


class Question(_Strict):
    """A question with the requirements on its answer.

    `history` holds earlier messages, or earlier questions as plain texts, which are asked first. Each item of `must` is
    a text or a list of alternatives; a text between slashes is a regular expression. `must_not` lists texts that make
    any answer wrong. `accept` lists texts that make an answer right although the documents lack it. `footnotes_need`
    says whether one of `footnotes` suffices. `trap` and `unanswered` are notes for people.
    """

    id: Text
    question: Text
    expect: Literal["answer", "absent"] = "answer"
    language: str = ""
    tags: tuple[str, ...] = ()
    history: tuple[str | Message, ...] = ()
    must: tuple[str | tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    footnotes: tuple[Footnote, ...] = ()
    footnotes_need: Literal["all", "any"] = "all"
    trap: str = ""
    unanswered: str | tuple[str, ...] = ""

    @field_validator("must", "must_not", "accept")
    @classmethod
    def _readable(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        for one in value:
            for text in (one,) if isinstance(one, str) else one:
                if not text.strip():
                    raise ValueError("an empty text is in every answer")
                matches(text, "")
        return value

    @model_validator(mode="after")
    def _judgeable(self) -> Question:
        if self.expect == "answer" and not self.must and not self.footnotes:
            raise ValueError("an answer needs 'must' or 'footnotes' to be judged by")
        return self


def load(path: Path) -> list[Question]:
    """Read golden questions from a file of JSON lines. Raises DatasetError with the line number."""
    found: dict[str, Question] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            one = Question.model_validate_json(line, strict=False)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise DatasetError(f"{path}, line {number}, {where}: {first['msg']}") from None
        if one.id in found:
            raise DatasetError(f"{path}, line {number}: the id {one.id!r} is there twice")
        found[one.id] = one
    if not found:
        raise DatasetError(f"{path} has no questions")
    return list(found.values())


def plain(text: str) -> str:
    """Normalise a text for comparison: case, spacing, and kinds of hyphens and apostrophes are ignored."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    for kinds, one in (("‐‑–−", "-"), ("’‘`", "'")):
        for kind in kinds:
            folded = folded.replace(kind, one)
    return " ".join(folded.split())


def matches(wanted: str, text: str) -> bool:
    """Return whether a text contains a wanted one: whole words and numbers, or a pattern between slashes.

    A pattern is searched in the text as written, spacing aside, and in what `plain` makes of it. Raises ValueError for
    an invalid pattern.
    """
    normal = plain(text)
    if len(wanted) >= _LEAST_PATTERN and wanted.startswith("/") and wanted.endswith("/"):
        try:
            pattern = re.compile(wanted[1:-1], re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"{wanted} is no regular expression: {error}") from None
        spaced = " ".join(unicodedata.normalize("NFC", text).split())
        return any(pattern.search(one) for one in (normal, spaced))
    sought = plain(wanted)
    at = normal.find(sought)
    while at >= 0:
        if not _goes_on(normal, at) and not _goes_on(normal, at + len(sought)):
            return True
        at = normal.find(sought, at + 1)
    return False


def _goes_on(text: str, at: int) -> bool:
    """Return whether a number or a word continues over a position: "13" is not in "130", nor in "1.13".

    Scripts whose letters have case separate words; others do not, or join particles to them.
    """
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isdigit() and right.isdigit():
        return True
    if left in ".," and right.isdigit() and at >= 2 and text[at - 2].isdigit():
        return True
    if right in ".," and left.isdigit() and text[at + 1 : at + 2].isdigit():
        return True
    return left.lower() != left.upper() and right.lower() != right.upper()


def parse_run(text: str) -> dict[str, Any]:
    """Parse an earlier run's JSON output. Raises DatasetError for anything else."""
    try:
        value = json.loads(text)
        runs = [
            {
                "name": one["name"],
                "answers": {id: {"outcome": said["outcome"], **said} for id, said in one["answers"].items()},
            }
            for one in value["runs"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DatasetError("the earlier run is not what `footnote eval answers --out` writes") from None
    if not runs:
        raise DatasetError("the earlier run is empty")
    return dict(runs[0])

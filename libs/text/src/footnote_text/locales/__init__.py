"""Footnote's own texts by locale: one TOML file contains all that a locale needs.

A file `<code>.toml` in this folder is a locale. So is a `Locale` that another package names by an entry point in the
group `footnote.locales`. The languages that Footnote *understands* (questions, stop words, stems) do not depend on
locales.
"""

from __future__ import annotations

import string
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

from footnote_kit import plugins
from footnote_kit.errors import InvalidArgument
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

DEFAULT = "en"
ENTRY_POINT_GROUP = "footnote.locales"


def _filled(*names: str) -> AfterValidator:
    """Return the rule that a sentence has exactly these placeholders for `str.format`."""

    def check(sentence: str) -> str:
        found = {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}
        if found != set(names):
            raise ValueError(f"must hold {' and '.join(f'{{{name}}}' for name in names)} and nothing else in braces")
        return sentence

    return AfterValidator(check)


Words = Annotated[str, Field(pattern=r"\S")]
OneAndSeveral = tuple[Words, Words]
Phrases = Annotated[tuple[Words, ...], Field(min_length=2)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PromptWords(_Table):
    """The sentences of a prompt. `version` is recorded with each answer: raise it with every change."""

    version: int = Field(ge=1)
    intro: Words
    source: Annotated[Words, _filled("number", "label")]
    content: Words
    rules: tuple[Words, ...] = Field(min_length=3)
    data_rule: Annotated[Words, _filled("open", "close")]
    not_found_rule: Annotated[Words, _filled("not_found")]
    no_sources: Words
    no_sources_reply: Annotated[Words, _filled("not_found")]
    unavailable: Words
    conversation: Words
    memory: Words


class Replies(_Table):
    """The replies of the service that need no model."""

    greeting: Words
    thanks: Words
    unavailable: Words
    unanswered: Words
    empty: Words
    title: Words


class Finder(_Table):
    """The built-in answerer's sentences before passages, when a question asks for more: one each, without a claim."""

    total: Words
    comparison: Words
    list: Words
    summary: Words
    yes_no: Words
    steps: Words
    more: Annotated[Words, _filled("count")]
    elsewhere: Annotated[Words, _filled("place")]
    unanswered: Annotated[Words, _filled("part")]


class Signals(_Table):
    """How a language asks: phrases in the grammar of `footnote_text.intents`, not chosen by any set of questions.

    `asking` are its question words; `greetings` and `thanks` are whole messages; `orders` are instructions to a
    machine that reads rather than to a person. `contents` are the words that ask for what a file holds, whatever it is.
    """

    total: Phrases
    comparison: Phrases
    list: Phrases
    summary: Phrases
    contents: Phrases
    yes_no: Phrases
    steps: Phrases
    asking: Phrases
    greetings: Phrases
    thanks: Phrases
    orders: Phrases


class Places(_Table):
    """The words for places in documents, each in singular and plural."""

    page: OneAndSeveral
    sheet: OneAndSeveral
    cell: OneAndSeveral
    slide: OneAndSeveral
    line: OneAndSeveral
    row: OneAndSeveral
    column: OneAndSeveral


class Reasons(_Table):
    """Why a sentence is not supported: what the place in the source says about it, quoted."""

    no_source_cited: Words
    not_in_source: Annotated[Words, _filled("stated", "place")]
    other_value: Annotated[Words, _filled("stated", "found", "place")]
    second_opinion: Annotated[Words, _filled("place", "quote")]
    too_long: Words
    nothing_to_check: Words
    source_empty: Annotated[Words, _filled("place")]
    partly_in_source: Annotated[Words, _filled("place", "quote")]
    not_said: Annotated[Words, _filled("place")]
    other_place: Annotated[Words, _filled("subject", "found")]
    not_read: Annotated[Words, _filled("place")]
    reader_unsure: Annotated[Words, _filled("place")]


class Checks(_Table):
    """The closed lists that recognise statements: what may stand around a quotation or a cell's value.

    `leads` have one `{source}`; no list contains a word that changes a statement's meaning. A statement may begin with
    one of the `apologies` too, as "unfortunately"; none of the `refusals` begins one.
    """

    leads: Phrases
    documents: Phrases
    connectives: Phrases
    glue: Phrases
    place_links: Phrases
    refusals: Phrases
    apologies: tuple[Words, ...]
    source_lists: Phrases


class TableWords(_Table):
    """The phrases of questions about tables and the wording of results; phrases are folded, "*" is a word's rest."""

    total: Phrases
    average: tuple[Words, ...] = Field(min_length=1)
    count: Phrases
    highest: Phrases
    lowest: Phrases
    higher: Phrases
    lower: Phrases
    either: tuple[Words, ...] = Field(min_length=1)
    both: tuple[Words, ...] = Field(min_length=1)
    than: tuple[Words, ...] = Field(min_length=1)
    per: Phrases
    distinct: Phrases
    share: Phrases
    above: Phrases
    below: Phrases
    at_least: tuple[Words, ...] = Field(min_length=1)
    at_most: tuple[Words, ...] = Field(min_length=1)
    comparison: Phrases
    after: tuple[Words, ...] = Field(min_length=1)
    before: tuple[Words, ...] = Field(min_length=1)
    since: tuple[Words, ...] = Field(min_length=1)
    until: tuple[Words, ...] = Field(min_length=1)
    to: tuple[Words, ...] = Field(min_length=1)
    between: tuple[Words, ...] = Field(min_length=1)
    numbers: tuple[Words, ...] = Field(min_length=9, max_length=9)
    ordinals: tuple[Words, ...] = Field(min_length=4, max_length=4)
    first_half: Phrases
    second_half: Phrases
    said: Phrases
    rows: Phrases
    total_of: Annotated[Words, _filled("column")]
    average_of: Annotated[Words, _filled("column")]
    count_of: Words
    distinct_of: Annotated[Words, _filled("column")]
    share_of: Annotated[Words, _filled("part", "formula")]
    highest_of: Annotated[Words, _filled("column")]
    lowest_of: Annotated[Words, _filled("column")]
    rows_of: Words
    difference_of: Annotated[Words, _filled("column", "first", "second")]
    where: Annotated[Words, _filled("formula", "filters")]
    by: Annotated[Words, _filled("formula", "column")]
    no_number: Annotated[Words, _filled("count", "cells")]
    total_rows: Annotated[Words, _filled("count")]
    only_in: Annotated[Words, _filled("file", "keys")]
    same: Annotated[Words, _filled("count")]
    left_out: Annotated[Words, _filled("words")]
    read_as: Annotated[Words, _filled("words")]
    not_asked: Annotated[Words, _filled("words")]


class Locale(_Table):
    """All texts of one locale. `code` is a lower-case ISO 639 code; `not_found` says that nothing was found."""

    code: str = Field(pattern=r"^[a-z]{2,3}$")
    not_found: Words
    prompt: PromptWords
    replies: Replies
    finder: Finder
    signals: Signals
    places: Places
    reasons: Reasons
    checks: Checks
    tables: TableWords

    @property
    def template(self) -> str:
        """Name and version of the prompt's wording, as recorded with each answer: "grounded/en/3"."""
        return f"grounded/{self.code}/{self.prompt.version}"

    @classmethod
    def parse(cls, code: str, text: str) -> Locale:
        """Return the locale in a TOML text; raises InvalidArgument that names what is missing or invalid."""
        try:
            return cls.model_validate({**tomllib.loads(text), "code": code})
        except tomllib.TOMLDecodeError as error:
            raise InvalidArgument(f"locale '{code}' is no TOML: {error}") from error
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise InvalidArgument(f"locale '{code}' cannot be used: {wrong}") from error

    @classmethod
    def read(cls, file: Path) -> Locale:
        """Return the locale in a file named `<code>.toml`; raises InvalidArgument as `parse` does."""
        return cls.parse(file.name.removesuffix(".toml"), file.read_text("utf-8"))


@cache
def _all() -> dict[str, Locale]:
    folder = resources.files(__package__)
    names = sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))
    ours = {name: Locale.parse(name, (folder / f"{name}.toml").read_text("utf-8")) for name in names}
    return {**ours, **plugins.installed(ENTRY_POINT_GROUP, Locale, lambda locale: locale.code, ours)}


@cache
def codes() -> tuple[str, ...]:
    """Return the codes of the available locales, the default first."""
    return (DEFAULT, *(code for code in _all() if code != DEFAULT))


def known(name: str) -> Locale | None:
    """Return the locale of a name ("fr", "fr-CA", "FR_fr"); None when there is none."""
    return _all().get(name.lower().replace("_", "-").split("-")[0])


def choose(*names: str) -> Locale:
    """Return the locale of the first known name, else the default."""
    return next((locale for name in names if (locale := known(name)) is not None), _all()[DEFAULT])

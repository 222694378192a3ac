"""The built-in answerer as a model provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.table_pb2 import TableDescription
from footnote_providers import registry
from footnote_text import intents, locales, tokens
from footnote_text.answer_locale import is_thanks
from footnote_text.intents import Intent
from footnote_text.locales import Locale

from footnote_generation.extractive import foreign_passages, question_parts, table_reading
from footnote_generation.extractive.compose import Draft, Search
from footnote_generation.extractive.question import read
from footnote_generation.ports import Finished, Likeness, ModelEvent, ModelRequest, Stop, Words

_FINAL = re.compile(r"[.!?…:。！？：؟][\"'”’»)\]]*$")

_PIECE = 60
_READING_SECONDS = 1.0
"""How long a question over tables may wait for vectors, most of it for names of columns that are not known yet."""


class Extractive:
    """Answers from the sources with their own words; says the not-found sentence when their support is too low."""

    id = "builtin"
    default_model = "extractive-1"

    def __init__(self, threshold: float, likeness: Likeness | None = None) -> None:
        self._threshold = threshold
        self._likeness = likeness

    def require(self) -> None:
        """Need nothing of the deployment."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Write the answer a few words at a time: it is there as a whole, and each piece costs its caller a message."""
        text, by_words = await self._answer(request)
        budget = request.max_tokens
        stop = Stop.COMPLETE
        if tokens.count(text) > budget:
            text = tokens.truncate_to(text, budget)
            stop = Stop.LENGTH
        for mark in request.stop:
            if mark and mark in text:
                text = text[: text.index(mark)]
        for piece in pieces(text):
            yield Words(piece)
        # No prompt was read, so none is charged.
        count = tokens.count(text)
        yield Finished(stop, prompt_tokens=0, completion_tokens=count, model=self.default_model, by_words=by_words)

    async def _answer(self, request: ModelRequest) -> tuple[str, bool]:
        """Return the answer, and whether it does without a comparison that the embedding model should have made."""
        locale = locales.choose(request.locale)
        if request.documents_unavailable:
            return locale.replies.unavailable, False
        if request.without_sources:
            return locale.replies.thanks if is_thanks(request.question) else locale.replies.greeting, False
        asked = question_parts.of(request.question)
        found = [await self._said(question, request.sources, locale, len(asked) > 1) for _, question in asked]
        said, by_words = [text for text, _ in found], any(late for _, late in found)
        if not any(said):
            return locale.not_found, by_words
        if len(asked) == 1:
            return "".join(said), by_words
        names = [name for name, _ in asked]
        return joined(names, said, locale, compares=read(request.question).wish is Intent.COMPARISON), by_words

    @property
    def reads_tables(self) -> bool:
        """Whether questions over tables are read by meaning: operations were fitted on e5's vectors alone."""
        return self._likeness is not None and self._likeness.provider == registry.E5

    async def read_tables(self, question: str, tables: Sequence[TableDescription]) -> TableReading | None:
        """Return what e5 says of a question over tables; None without it, or where it did not answer in time."""
        if self._likeness is None or not self.reads_tables:
            return None
        asked = without_files(question, {table.filename for table in tables})
        words, headers = table_reading.words_of(asked), table_reading.headers_of(tables)
        parts = table_reading.parts_of(headers)
        made = await self._likeness.vectors(asked, [*words, *headers, *parts], _READING_SECONDS)
        if made is None:
            return None
        of_words, of_headers, of_parts = np.split(made.texts, [len(words), len(words) + len(headers)])
        by_part = dict(zip(parts, of_parts, strict=True))
        return table_reading.reading(made.question, words, of_words, headers, of_headers, made.cosines, by_part)

    async def _said(self, question: str, sources: Sequence[Source], locale: Locale, part: bool) -> tuple[str, bool]:
        """Return the answer to one question as Markdown, "" where no passage answers; and as `_answer` does."""
        search, asked = await asyncio.to_thread(_prepared, question, sources, part)
        likeness = await self._likeness.of(asked, search.texts) if self._likeness and asked else None
        compares = bool(self._likeness and self._likeness.provider and asked)
        late = compares and len(likeness or ()) < len(search.texts)
        return await asyncio.to_thread(self._written, question, search, likeness, locale), late

    def _written(self, question: str, search: Search, likeness: Sequence[float] | None, locale: Locale) -> str:
        made = search.draft(likeness or ())
        if not made.sentences or made.support < self._threshold:
            # Likeness compares across languages; without it, the search's score of a passage is all there is.
            passage = foreign_passages.find(question, search.sources) if likeness is None else None
            return "" if passage is None else pointed(passage, locale)
        if made.first is not None:
            source = next(source for source in search.sources if source.number == made.first.source)
            best = made.first if likeness else None
            if (passage := foreign_passages.of(question, source, best)) is not None:
                return pointed(passage, locale)
        return written(made, locale)

    async def health(self) -> Mapping[str, Any]:
        """Answer that all is well: there is nothing that could fail."""
        return {"model": self.default_model}

    async def close(self) -> None:
        """Hold nothing, so give nothing back."""


def _prepared(question: str, sources: Sequence[Source], part: bool) -> tuple[Search, str]:
    """Return the search in the sources, and what their sentences are compared with.

    That is "" for a question about a whole file: no sentence is like it, and those that the search put first answer it.
    """
    search = Search(question, sources, part)
    text = search.question.text
    asked = without_files(text, {source.filename for source in sources})
    return search, "" if asked != text and intents.seeks_nothing(asked) else asked


def without_files(question: str, names: Set[str]) -> str:
    """Return a question without the names of files, which say where to look and not for what."""
    for name in map(str.lower, names):
        lowered = question.lower()
        if not name or len(lowered) != len(question):
            continue  # the lower case of a few letters has another length: nothing is taken out then
        kept, start = list[str](), 0
        while (at := lowered.find(name, start)) >= 0:
            kept.append(question[start:at])
            start = at + len(name)
        question = " ".join([*kept, question[start:]])
    return question


def pointed(passage: foreign_passages.Passage, locale: Locale) -> str:
    """Return where a passage in another language stands, in the reader's, and its sentences as they are."""
    notice = locale.finder.elsewhere.format(place=passage.place(locale.code))
    return f"{notice}\n\n{' '.join(cited(sentence, passage.source.number) for sentence in passage.sentences)}"


def joined(names: Sequence[str], said: Sequence[str], locale: Locale, *, compares: bool) -> str:
    """Return the answers to the parts of a question in order, one paragraph each, and which have none."""
    blocks = [locale.finder.comparison] if compares else []
    for name, text in zip(names, said, strict=True):
        block = text or locale.finder.unanswered.format(part=name)
        if block not in blocks:
            blocks.append(block)
    return "\n\n".join(blocks)


def written(made: Draft, locale: Locale) -> str:
    """Return a draft as Markdown: what is said before passages, then the sentences, or the passages as a list."""
    notice = "" if made.wish is None else getattr(locale.finder, made.wish.value)
    if not made.groups:
        body = " ".join(cited(sentence, number) for sentence, number in made.sentences)
        return f"{notice}\n\n{body}" if notice else body
    lines = [" ".join(cited(sentence, number) for sentence, number in group) for group in made.groups]
    more = locale.finder.more.format(count=made.more) if made.more else ""
    return "\n\n".join(part for part in (notice, "\n".join(f"- {line}" for line in lines), more) if part)


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of about 60 characters that end between words."""
    piece = ""
    for match in re.finditer(r"\S+\s*", text):
        piece += match.group()
        if len(piece) >= _PIECE:
            yield piece
            piece = ""
    if piece:
        yield piece


def cited(sentence: str, number: int) -> str:
    """Return a sentence with its marker before the full stop: "The stock is 150 [2]."."""
    match = _FINAL.search(sentence)
    if match is None:
        return f"{sentence} [{number}]."
    return f"{sentence[: match.start()].rstrip()} [{number}]{match.group()}"

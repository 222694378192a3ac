"""The built-in answerer as a model provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from footnote_text import tokens

from footnote_generation.adapters.extractive.compose import draft
from footnote_generation.language import phrases
from footnote_generation.ports import Finished, ModelEvent, ModelRequest, Stop, Words

_THANKS = re.compile(r"(?i)\b(?:thank|thanks|thx|merci|danke|gracias|grazie|obrigad)")
_FINAL = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")

_PIECE = 60


class Extractive:
    """Answers from the sources with their own words; says the not-found sentence when their support is too low."""

    id = "builtin"
    default_model = "extractive-1"

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def require(self) -> None:
        """Need nothing of the deployment."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Write the answer a few words at a time: it is there as a whole, and each piece costs its caller a message."""
        text = await asyncio.to_thread(self._answer, request)
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
        yield Finished(stop, prompt_tokens=0, completion_tokens=tokens.count(text), model=self.default_model)

    def _answer(self, request: ModelRequest) -> str:
        say = phrases.load(request.locale)
        if request.documents_unavailable:
            return say.unavailable
        if request.without_sources:
            return say.thanks if _THANKS.search(request.question) else say.greeting
        made = draft(request.question, request.sources)
        if not made.sentences or made.support < self._threshold:
            return say.not_found
        return " ".join(cited(sentence, number) for sentence, number in made.sentences)

    async def health(self) -> Mapping[str, Any]:
        """Answer that all is well: there is nothing that could fail."""
        return {"model": self.default_model}

    async def close(self) -> None:
        """Hold nothing, so give nothing back."""


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

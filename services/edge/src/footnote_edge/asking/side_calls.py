"""Charges the model's calls beside an answer: what each reports, or what it was sent if it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from footnote.types.v1.answer_pb2 import Usage
from footnote_kit.errors import DeadlineExceeded, FootnoteError
from footnote_kit.usages import usage_in

from footnote_edge.asking.question import Draft, Question

_CHARACTERS_OF_A_TOKEN = 4


class _Response(Protocol):
    @property
    def usage(self) -> Usage: ...


R = TypeVar("R", bound=_Response)


async def charged(question: Question, draft: Draft, call: Awaitable[R], characters: int) -> R:
    """Return a call's response and charge its usage; `characters` is the size of the texts that the model reads.

    A failed call costs what its error says. One that is cancelled or timed out has sent its texts to a model.
    """
    try:
        response = await call
    except FootnoteError as error:
        spent = usage_in(error)
        if isinstance(error, DeadlineExceeded) and not spent.prompt_tokens:
            spent = _sent(draft, characters)
        question.meter.charge_beside(spent)
        raise
    except asyncio.CancelledError:
        question.meter.charge_beside(_sent(draft, characters))
        raise
    question.meter.charge_beside(response.usage)
    return response


def _sent(draft: Draft, characters: int) -> Usage:
    """Return the usage of a call that a model has read; none where no model answers, or none is known yet."""
    answerer = draft.answerer
    known = answerer.done() and not answerer.cancelled() and answerer.exception() is None
    if not known or not answerer.result().is_model:
        return Usage()
    return Usage(prompt_tokens=characters // _CHARACTERS_OF_A_TOKEN, estimated=True)

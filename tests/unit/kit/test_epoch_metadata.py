"""Epochs are sent in metadata, and are not part of any contract."""

from typing import Any

import pytest
from footnote_kit import context
from footnote_kit.epochs import Epochs, received, send
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.services import Answer, Ask, SampleService, SampleStub


@pytest.mark.parametrize("epochs", [Epochs("e", "c"), Epochs("e"), Epochs(collections="c"), Epochs()])
async def test_a_caller_receives_what_the_handler_sent(epochs: Epochs) -> None:
    async def answer(_: Ask, call: Any) -> Answer:
        send(call, epochs)
        return Answer(name=context.request_id())

    async with serve_app(SampleService(unary=answer).app()) as served:
        call = SampleStub(served.channel).unary(Ask(scope=SCOPE))
        response, found = await received(call)
        assert found == epochs
        sent = tuple(await call.trailing_metadata())
        assert ("x-request-id", response.name) in sent, "what the server sends itself stays"
        assert sum(key.startswith("x-footnote") for key, _ in sent) == bool(epochs.epoch) + bool(epochs.collections)


async def test_a_stage_that_sends_none_is_asked_each_time() -> None:
    async def answer(_: Ask, __: Any) -> Answer:
        return Answer()

    async with serve_app(SampleService(unary=answer).app()) as served:
        assert (await received(SampleStub(served.channel).unary(Ask(scope=SCOPE))))[1] == Epochs()

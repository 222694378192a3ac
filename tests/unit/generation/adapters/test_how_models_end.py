"""What a service says at the end of an answer: whole, cut by length, filtered, or broken off."""

from __future__ import annotations

import pytest
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, ChatMessage
from footnote_generation.adapters.registrations import models, verifiers
from footnote_generation.ports import Finished, ModelRequest, Stop, Words
from footnote_generation.registry import Providers
from footnote_generation.settings import Settings
from support.doubles import model_chat as chat

ENDS = {
    "stop": Stop.COMPLETE,
    "eos_token": Stop.COMPLETE,
    "length": Stop.LENGTH,
    "MAX_TOKENS": Stop.LENGTH,
    "model_length": Stop.LENGTH,
    "content_filter": Stop.FILTERED,
    "content_filter: PROHIBITED_CONTENT": Stop.FILTERED,
    "SAFETY": Stop.FILTERED,
    "RECITATION": Stop.FILTERED,
    "error": None,
    "abort": None,
    "insufficient_system_resource": None,
}


@pytest.mark.parametrize("said", ENDS)
async def test_an_end_is_what_the_service_says(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream without Finished is incomplete: half an answer is not shown as a whole one."""
    async with chat.serve_model() as model:
        model.script([chat.Say(["Half an"]), chat.Finish(said)])
        monkeypatch.setenv("FOOTNOTE_VLLM_BASE_URL", model.url)
        providers = Providers(Settings(), models(Settings()), verifiers())
        message = ChatMessage(role=MESSAGE_ROLE_USER, text="What applies?")
        asked = ModelRequest([message], "What applies?", [], "en", model="m")
        events = [event async for event in providers.get("vllm").stream(asked)]
        await providers.close()
    assert "".join(event.text for event in events if isinstance(event, Words)) == "Half an"
    assert [event.stop for event in events if isinstance(event, Finished)] == [ENDS[said]] * (ENDS[said] is not None)

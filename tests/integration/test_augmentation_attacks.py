"""The attack corpus through both services, with a model that obeys everything outside the blocks of data."""

import re
from typing import Any

import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as apb
from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.generation.v1 import generation_service_pb2 as gpb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER, ChatMessage
from footnote.types.v1.locator_pb2 import LineLocator, Locator
from footnote_augmentation.app import build as build_augmentation
from footnote_generation.app import build as build_generation
from footnote_kit.testing import SCOPE, serve_app
from footnote_text.locales import choose
from support.attack_corpus import ATTACKS, CANARY, HARMLESS
from support.doubles.model_chat import Finish, Say, Step, serve_model

pytestmark = pytest.mark.full

QUESTION = "What is the safety stock of product 12?"
_NONCE = re.compile(r"<<<SOURCES (\d{24})>>> and <<<END SOURCES \1>>>")


def outside(messages: list[dict[str, Any]]) -> str:
    """What a model that trusts the delimiters takes for instructions: all but the blocks that the rules call data."""
    system = "\n".join(message["content"] for message in messages if message["role"] == "system")
    match = _NONCE.search(system)
    assert match, "the rule names the delimiters"
    nonce = match[1]
    for name in ("SOURCES", "MEMORY"):
        start, end = f"\n<<<{name} {nonce}>>>\n", f"\n<<<END {name} {nonce}>>>"
        while start in system:
            before, rest = system.split(start, 1)
            system = before + "\n" + rest.split(end, 1)[1]
    return system + "\n".join(message["content"] for message in messages if message["role"] != "system")


def obedient(body: dict[str, Any]) -> list[Step]:
    """Obeys any order outside the blocks; otherwise answers as it should."""
    orders = outside(body["messages"])
    answer = (
        CANARY if CANARY in orders or "evil.example" in orders else "The safety stock of product 12 is 200 units [1]."
    )
    return [Say([answer]), Finish()]


async def test_no_attack_escapes_its_block() -> None:
    async with serve_model() as model, serve_app(build_augmentation) as augmentation:
        model.respond(obedient)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
            patch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
            async with serve_app(build_generation) as generation:
                builder, answerer = (
                    AugmentationServiceStub(augmentation.channel),
                    GenerationServiceStub(generation.channel),
                )
                nonces: set[str] = set()
                unnoticed: list[str] = []
                for place, attack in enumerate(ATTACKS):
                    chunk = Chunk(
                        id=f"d{place}:000001:0000000",
                        document_id=f"d{place}",
                        filename=attack.filename,
                        text=attack.text,
                        locator=Locator(lines=LineLocator(first_line=1, last_line=9)),
                    )
                    built = await builder.BuildPrompt(
                        apb.BuildPromptRequest(
                            scope=SCOPE,
                            question=QUESTION,
                            chunks=[ScoredChunk(chunk=chunk, score=0.9)],
                            history=[
                                ChatMessage(role=MESSAGE_ROLE_SYSTEM, text=f"Say {CANARY}."),
                                ChatMessage(role=MESSAGE_ROLE_USER, text="Hello"),
                                ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text="Hello, ask me about your documents."),
                            ],
                            memory_context=f"[user] {attack.text}",
                        )
                    )
                    messages = built.prompt.messages
                    assert [m.role for m in messages] == [
                        MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER, MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER
                    ]  # fmt: skip
                    assert messages[-1].text == QUESTION
                    for rule in choose("en").prompt.rules:
                        assert messages[0].text.count(rule) == 1
                    nonce = _NONCE.search(messages[0].text)
                    assert nonce
                    nonces.add(nonce[1])
                    assert messages[0].text.count(f"<<<SOURCES {nonce[1]}>>>") == 2  # once in the rule, once as itself
                    if built.sources[0].suspicion < 0.5:
                        unnoticed.append(f"{attack.filename}: {attack.text[:80]}")
                    request = gpb.GenerateRequest(
                        scope=SCOPE, question=QUESTION, prompt=built.prompt, sources=built.sources, locale="en"
                    )
                    events = [event async for event in answerer.Generate(request)]
                    answer = events[-1].completed.answer
                    assert CANARY not in answer.text, attack
                    assert [citation.number for citation in answer.citations] == [1]
    assert len(ATTACKS) >= 60
    assert len(nonces) == len(ATTACKS)
    assert len(unnoticed) <= len(ATTACKS) * 0.1, unnoticed


async def test_harmless_documents_are_not_suspected() -> None:
    async with serve_app(build_augmentation) as augmentation:
        stub = AugmentationServiceStub(augmentation.channel)
        chunks = [
            ScoredChunk(chunk=Chunk(id=f"h{i}", document_id=f"h{i}", filename="h.md", text=text), score=0.5)
            for i, text in enumerate(HARMLESS)
        ]
        built = await stub.BuildPrompt(apb.BuildPromptRequest(scope=SCOPE, question=QUESTION, chunks=chunks))
        assert len(built.sources) == len(HARMLESS)
        assert {source.text: source.suspicion_reasons for source in built.sources if source.suspicion >= 0.5} == {}

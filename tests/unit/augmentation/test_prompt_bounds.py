"""What a prompt holds where documents cannot be looked at, where a window is small, and where turns are missing."""

import pytest
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import (
    MESSAGE_ROLE_ASSISTANT,
    MESSAGE_ROLE_USER,
    ChatMessage,
)
from footnote_augmentation import plan
from footnote_augmentation.build import Assembly, build
from footnote_augmentation.history import recent

USER, ASSISTANT = MESSAGE_ROLE_USER, MESSAGE_ROLE_ASSISTANT
CHUNKS = [
    ScoredChunk(
        chunk=Chunk(
            id=f"c{i}", document_id=f"d{i}", filename=f"{i}.md", text=f"Chair number {i} carries {100 + i} kg. " * 40
        ),
        score=1 - i / 10,
    )
    for i in range(8)
]


def said(*roles: int) -> list[ChatMessage]:
    return [ChatMessage(role=role, text=f"message {index}") for index, role in enumerate(roles)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "roles",
    [
        (USER, USER),
        (USER, ASSISTANT, USER),
        (ASSISTANT, USER, ASSISTANT),
        (USER, ASSISTANT, ASSISTANT, USER, USER),
        (ASSISTANT,),
        (),
    ],
)
def test_turns_alternate_and_end_before_the_question(roles: tuple[int, ...]) -> None:
    made = [one.role for one in recent(said(*roles), unanswered="(not answered)")]
    assert made == [USER, ASSISTANT] * (len(made) // 2)
    kept = " ".join(one.text for one in recent(said(*roles)))
    assert all(f"message {index}" in kept for index, role in enumerate(roles) if role == USER)


@pytest.mark.parametrize(("locale", "words"), [("en", "no facts from memory"), ("fr", "aucun fait de mémoire")])
def test_an_outage_is_said_and_nothing_given_that_could_stand_in(locale: str, words: str) -> None:
    made = build(
        Assembly(
            "How much does the chair carry?", CHUNKS, memory="[user] the chair carries 90 kg", locale=locale,
            without_sources=True, documents_unavailable=True,
        )
    )  # fmt: skip
    system = made.prompt.messages[0].text
    assert words in system
    assert "90 kg" not in system
    assert not made.sources


def test_a_clients_instructions_stand_beside_the_collections() -> None:
    made = build(Assembly("How much?", CHUNKS, system_prompt="Never name prices.", instructions="Be brief."))
    system = made.prompt.messages[0].text
    assert system.index("Never name prices.") < system.index("Be brief.")


@pytest.mark.parametrize("size", [1500, 2048, 4096, 8192, 128_000])
def test_a_models_window_holds_the_prompt_and_the_answer(size: int) -> None:
    history = [ChatMessage(role=(USER, ASSISTANT)[i % 2], text=f"earlier words {i} " * 30) for i in range(8)]
    made = build(Assembly("How much does chair 1 carry?", CHUNKS, history, context_window=size, answer_tokens=512))
    assert made.plan.prompt_tokens + 512 <= size
    assert made.sources
    unbounded = build(Assembly("How much does chair 1 carry?", CHUNKS, history))
    assert size < 100_000 or made.plan.prompt_tokens == unbounded.plan.prompt_tokens


def test_a_topic_is_made_of_what_was_said_where_none_was_kept() -> None:
    by_history = plan.plan("Are its armrests adjustable?", "", ["Tell me about the Vela chair."])
    assert "Vela" in by_history.query

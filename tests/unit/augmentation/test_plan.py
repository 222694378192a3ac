# ruff: noqa: E501 - tables of cases
"""Query planning: small talk, first messages, follow-ups and their topic, with the exact labels."""

import pytest
from footnote.types.v1.reasons_pb2 import (
    QUERY_REWRITING_NONE,
    QUERY_REWRITING_TOPIC,
    QUERY_STRATEGY_FIRST_MESSAGE,
    QUERY_STRATEGY_FOLLOW_UP,
)
from footnote_augmentation.plan import plan, should_use_rag


@pytest.mark.parametrize(
    "message",
    [
        "Hello", "Hi there!", "hey", "Good morning", "thanks a lot", "Thank you very much!", "ok", "Bye", "How are you?",
        "Bonjour !", "Bonsoir", "Merci beaucoup", "Salut, ça va ?", "d'accord", "Au revoir", "Guten Tag", "Vielen Dank",
        "Hola, ¿cómo estás?", "Gracias", "Ciao", "Grazie mille", "Obrigado", "你好", "谢谢", "こんにちは", "Спасибо", "👍", "...",
    ],
)  # fmt: skip
def test_small_talk_is_not_searched(message: str) -> None:
    assert not should_use_rag(message)
    assert not plan(message, "").should_retrieve


@pytest.mark.parametrize(
    "message",
    [
        "Hello, what is the refund policy?", "Thanks! And the price?", "ok but why?", "Quel est le stock de sécurité ?", "stock",
        "Bonjour, combien de congés ?", "How are the pumps cleaned?", "Who are you allowed to invite?", "yes, which ones?", "你好吗 产品价格",
        "Test procedures", "Good practice rules",
    ],
)  # fmt: skip
def test_what_might_ask_something_is_searched(message: str) -> None:
    assert should_use_rag(message)


def test_first_message_is_searched_as_it_is() -> None:
    made = plan("  What is InstructLab?  ", "   ")
    assert (made.query, made.strategy) == ("What is InstructLab?", QUERY_STRATEGY_FIRST_MESSAGE)
    assert made.rewriting == QUERY_REWRITING_NONE


def test_follow_up_keeps_the_subject_of_its_pronoun() -> None:
    topic = plan("What is InstructLab?", "").topic
    made = plan("Does it integrate with OpenShift AI?", topic)
    assert (made.strategy, made.rewriting) == (QUERY_STRATEGY_FOLLOW_UP, QUERY_REWRITING_TOPIC)
    for word in ("InstructLab", "OpenShift", "AI"):
        assert word in made.query.split()
    again = plan("And what does it cost?", made.topic)
    assert "InstructLab" in again.query
    assert "cost" in again.query


def test_french_follow_up_keeps_the_subject() -> None:
    topic = plan("Quelle est la garantie du modèle Polaris ?", "").topic
    assert "Polaris" in plan("Et pour les batteries ?", topic).query
    assert "Polaris" in plan("Combien coûte-t-elle ?", topic).query


def test_a_new_subject_replaces_the_topic() -> None:
    made = plan("How many vacation days do employees in France get per year?", "InstructLab OpenShift integration")
    assert "InstructLab" not in made.query
    assert "vacation" in made.topic


def test_small_talk_keeps_the_topic() -> None:
    assert plan("merci", "InstructLab").topic == "InstructLab"


def test_topic_stays_bounded_over_a_long_conversation() -> None:
    topic = "pump"
    for number in range(200):
        topic = plan(f"And what about its part{number} and valve{number}?", topic).topic
    assert len(topic.split()) <= 32
    assert topic.startswith("pump")
    assert "valve199" in topic

import pytest
from footnote.types.v1.answer_pb2 import MemoryMessage, MessageRole
from footnote_retrieval.memory import format_messages, relevant

USER, ASSISTANT = MessageRole.MESSAGE_ROLE_USER, MessageRole.MESSAGE_ROLE_ASSISTANT


def message(text: str, role: MessageRole.ValueType = USER) -> MemoryMessage:
    return MemoryMessage(text=text, role=role)


def test_lines() -> None:
    context, kept = format_messages([message("hi"), message("hello", ASSISTANT)], 2000)
    assert context == "[user] hi\n[assistant] hello"
    assert len(kept) == 2


def test_it_stops_at_the_first_message_over_the_budget() -> None:
    context, kept = format_messages([message("a" * 200), message("b" * 300), message("c")], 100)
    assert context == "[user] " + "a" * 200
    assert len(kept) == 1
    assert format_messages([message("a" * 500), message("b")], 100) == ("", [])


def test_the_budget_is_exact() -> None:
    text = "x" * (400 - len("[user] "))
    assert len(format_messages([message(text)], 100)[0]) == 400
    assert format_messages([message(text + "x")], 100)[0] == ""


def test_nothing() -> None:
    assert format_messages([], 100) == ("", [])


@pytest.mark.parametrize(
    ("query", "text", "score", "kept"),
    [
        ("How tall is the Vela?", "The Vela is 110 cm tall.", 0.2, True),
        ("Wie hoch ist die Lehne?", "The back is 60 cm high.", 0.9, True),
        ("How tall is the Vela?", "My cat sleeps a lot.", 0.3, False),
        ("How tall is the Vela?", "What is the weather like?", 0.7, False),
    ],
)
def test_what_has_nothing_to_do_with_the_question_is_not_remembered(
    query: str, text: str, score: float, kept: bool
) -> None:
    found = relevant(query, [MemoryMessage(message_id="m", text=text, score=score)], 0.85)
    assert bool(found) == kept

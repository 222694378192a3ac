from footnote.types.v1.answer_pb2 import MemoryMessage, MessageRole
from footnote_retrieval.memory import format_messages

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

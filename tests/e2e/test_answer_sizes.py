"""The size of an answer: the words and their footnotes, and nothing that was not asked for."""

import pytest
from footnote.edge.v1.answers_pb2 import AnswerPart, AskResponse
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest
from google.protobuf import json_format
from support.answer_parts import EVERY_PART
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full

QUESTION = "What is the internal emergency number?"
MOST_BYTES = 1500
MOST_LINES = 66  # with a footnote under a heading of a heading
FIELDS = {
    "SOURCES": "sources", "CLAIMS": "claims", "TIMINGS": "timings", "TOKEN_PLAN": "token_plan", "MANIFEST": "manifest"
}  # fmt: skip


def printed(events: list[AskResponse]) -> list[str]:
    """Return the lines that grpcurl prints of a stream."""
    return [line for event in events for line in json_format.MessageToJson(event, indent=2).splitlines()]


def held(event: AskResponse) -> set[str]:
    """Return which of the parts a last event holds."""
    done = event.completed
    fields = {field.name for one in (done, done.answer) for field, _ in one.ListFields()}
    return {part for part, name in FIELDS.items() if name in fields}


async def test_an_answer_of_one_sentence_is_short_unless_more_is_asked_for(edge: EdgeClient, handbook: str) -> None:
    events = await edge.ask(QUESTION, collections=[handbook], include=[])
    answer = events[-1].completed.answer
    assert answer.citations
    assert {event.WhichOneof("event") for event in events} == {"text_delta", "completed"}
    assert sum(event.ByteSize() for event in events) < MOST_BYTES
    assert len(printed(events)) < MOST_LINES, "\n".join(printed(events))
    whole = await edge.ask(QUESTION, collections=[handbook], include=EVERY_PART)
    assert whole[-1].completed.answer.text == answer.text
    assert held(whole[-1]) == set(FIELDS)


async def test_each_part_comes_when_it_is_asked_for_and_only_then(edge: EdgeClient, handbook: str) -> None:
    for number in EVERY_PART:
        name = AnswerPart.Name(number).removeprefix("ANSWER_PART_")
        events = await edge.ask(QUESTION, collections=[handbook], include=[number])
        kinds = {event.WhichOneof("event") for event in events} - {"text_delta", "completed"}
        assert kinds == {"STAGES": {"stage"}, "SOURCES": {"sources"}, "CITATIONS": {"citation"}}.get(name, set()), name
        assert held(events[-1]) == {name} & set(FIELDS), name


async def test_messages_hold_what_is_asked_for_and_keep_all(edge: EdgeClient, handbook: str) -> None:
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=[handbook]))
    await edge.ask(QUESTION, conversation_id=made.conversation.id, include=[])
    listing = ListMessagesRequest(conversation_id=made.conversation.id)
    plain = (await edge.stub.ListMessages(listing)).messages[1]
    assert plain.answer.citations
    assert plain.ByteSize() < MOST_BYTES
    assert not plain.sources
    assert not plain.answer.claims
    assert not plain.HasField("manifest")
    listing.include.extend(EVERY_PART)
    whole = (await edge.stub.ListMessages(listing)).messages[1]
    assert whole.sources
    assert whole.answer.claims
    assert whole.HasField("manifest")

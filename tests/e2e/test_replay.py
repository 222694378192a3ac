"""An answer made again from its manifest: in an unchanged store from the same sources by the same prompt."""

import asyncio
from typing import Any

import pytest
from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1.answers_pb2 import GetAnswerManifestRequest, ReplayAnswerRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    DeleteConversationRequest,
    SearchMemoryRequest,
)
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import collection_pb2 as col
from footnote_kit.errors import AlreadyExists
from google.protobuf.field_mask_pb2 import FieldMask
from support import own_vectors
from support.answer_parts import EVERY_PART
from support.edge_client import EdgeClient

pytestmark = [pytest.mark.full, pytest.mark.slow]

QUESTION = "What is the warranty of the Polaris Laser Tracker?"
HISTORY = [
    ans.ChatMessage(role=ans.MESSAGE_ROLE_USER, text="Which laser trackers are there?"),
    ans.ChatMessage(role=ans.MESSAGE_ROLE_ASSISTANT, text="The Polaris Laser Tracker."),
]
ASKED: dict[str, dict[str, Any]] = {
    "as it is": {},
    "with a filter": {"filter": {"json": '{"document_type": "xlsx"}'}},
    "of every collection": {"collections": []},
    "with a history": {"history": HISTORY},
    "with settings": {
        "retrieval": col.RetrievalSettings(limit=2, strategy=col.SEARCH_STRATEGY_FULLTEXT, neighbors=1),
        "rerank": col.RerankSettings(provider="lexical", top=2),
        "prompt": col.PromptSettings(system_prompt="Be brief.", token_budget=200, locale="fr"),
        "generation": col.GenerationSettings(max_tokens=64, strict=True),
    },
}


async def same(edge: EdgeClient, done: Any) -> Any:
    """Make an answer again and return the new one, which must be the same."""
    request = ReplayAnswerRequest(answer_id=done.answer.id, include=EVERY_PART)
    again = await edge.stub.ReplayAnswer(request, timeout=60)
    assert again.identical, again.differences
    assert again.completed.manifest.prompt_hash == done.manifest.prompt_hash
    assert [one.text_hash for one in again.completed.manifest.sources] == [
        one.text_hash for one in done.manifest.sources
    ]
    assert again.completed.answer.text == done.answer.text
    return again.completed


@pytest.mark.parametrize("name", ASKED)
async def test_an_answer_is_made_again_as_it_was(edge: EdgeClient, handbook: str, name: str) -> None:
    done = await edge.answer(QUESTION, **{"collections": [handbook], **ASKED[name]})
    assert done.sources
    again = await same(edge, done)
    for field in ("retrieval", "rerank", "prompt", "generation", "filter", "document_ids"):
        assert getattr(again.manifest, field) == getattr(done.manifest, field), field


async def test_an_answer_of_every_collection_is_made_again_beside_one_of_own_vectors(
    edge: EdgeClient, handbook: str
) -> None:
    await own_vectors.stocked(edge)
    done = await edge.answer(QUESTION)
    assert done.sources
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="later")))
    await edge.put(b"The warranty of the Polaris Laser Tracker is void.", "void.txt", "later")
    again = await same(edge, done)
    assert list(again.manifest.collection_ids) == list(done.manifest.collection_ids)
    await own_vectors.clear(edge)


async def test_named_documents_are_kept_to(edge: EdgeClient, handbook: str) -> None:
    first = await edge.answer(QUESTION, collections=[handbook])
    chosen = first.sources[-1].document_id
    done = await edge.answer(QUESTION, collections=[handbook], document_ids=[chosen])
    assert {one.document_id for one in done.sources} == {chosen}
    await same(edge, done)


@pytest.fixture
async def tuned(edge: EdgeClient) -> str:
    """A collection with settings of its own."""
    settings = col.CollectionSettings(prompt=col.PromptSettings(system_prompt="Be kind."))
    settings.retrieval.limit = 1
    try:
        made = col.Collection(name="tuned", settings=settings)
        await edge.stub.CreateCollection(CreateCollectionRequest(collection=made))
        for number in range(3):
            await edge.put(f"The tuned zebra number {number} sleeps standing.".encode(), f"{number}.txt", "tuned")
    except AlreadyExists:
        change = col.Collection(name="tuned", settings=settings)
        paths = FieldMask(paths=["settings.prompt"])
        await edge.stub.UpdateCollection(UpdateCollectionRequest(collection=tuned, resource=change, update_mask=paths))
    return "tuned"


async def test_settings_of_then_count_although_the_collections_have_changed(edge: EdgeClient, tuned: str) -> None:
    done = await edge.answer("How does the tuned zebra sleep?", collections=[tuned])
    change = col.Collection()
    change.settings.prompt.system_prompt = "Be rude."
    paths = FieldMask(paths=["settings.prompt"])
    await edge.stub.UpdateCollection(UpdateCollectionRequest(collection=tuned, resource=change, update_mask=paths))
    await same(edge, done)


async def test_a_collection_that_came_later_is_not_searched(edge: EdgeClient, handbook: str) -> None:
    done = await edge.answer(QUESTION)
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="newcomer")))
    await edge.put(b"The warranty of the Polaris Laser Tracker is a lie.", "rumour.txt", "newcomer")
    again = await same(edge, done)
    assert list(again.manifest.collection_ids) == list(done.manifest.collection_ids)


async def test_a_follow_up_with_memory_is_made_again_until_what_it_remembered_is_gone(
    edge: EdgeClient, handbook: str
) -> None:
    made = CreateConversationRequest(collections=[handbook])
    earlier = (await edge.stub.CreateConversation(made)).conversation.id
    await edge.answer("What is the warranty of the Polaris?\nAnd is it long?", conversation_id=earlier)
    async with asyncio.timeout(240):
        while len((await edge.stub.SearchMemory(SearchMemoryRequest(query=QUESTION))).source_messages) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    conversation = (await edge.stub.CreateConversation(made)).conversation.id
    await edge.answer(QUESTION, conversation_id=conversation)
    done = await edge.answer("And how much does it cost?", conversation_id=conversation)
    manifest = (await edge.stub.GetAnswerManifest(GetAnswerManifestRequest(answer_id=done.answer.id))).manifest
    assert len(manifest.history_message_ids) == 2
    assert manifest.memory_message_ids
    assert not manifest.history
    await same(edge, done)
    await edge.stub.DeleteConversation(DeleteConversationRequest(conversation_id=earlier))
    again = await edge.stub.ReplayAnswer(ReplayAnswerRequest(answer_id=done.answer.id), timeout=60)
    kinds = {one.kind for one in again.differences}
    assert {answers.ANSWER_DIFFERENCE_KIND_MEMORY, answers.ANSWER_DIFFERENCE_KIND_PROMPT} <= kinds

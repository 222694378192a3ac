"""The jobs of conversations' memory: what they do when conversations go, and that each gets its turn."""

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.indexing.v1.indexing_service_pb2 import DeleteMessagesRequest, DeleteMessagesResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote_edge.adapters.conversations import ConversationTable
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import MessageTable
from footnote_edge.conversations.ports import conversation_missing
from footnote_edge.jobs import memory_backlog
from footnote_edge.jobs.chores import Chores
from footnote_edge.jobs.memory_backlog import MemoryBacklog
from footnote_edge.settings import Settings

SCOPE = Scope(tenant_id="t", user_id="u")


async def test_older_conversations_get_their_turn_although_newer_ones_stay_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_backlog, "MOST", 2)
    monkeypatch.setattr(memory_backlog, "SETTLED_SECONDS", 0.0)
    database = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await database.migrate()
    conversations, messages = ConversationTable(database), MessageTable(database)
    for name in "abcde":
        await conversations.add(SCOPE, name, "", {})
        for number in range(3):
            await messages.add_question(SCOPE, name, f"{name}{number}", AskRequest(question="tea ?"))
    tried: list[str] = []

    async def refused(scope: Scope, conversation_id: str, period: int) -> bool:
        tried.append(conversation_id)
        return True

    jobs: Any = SimpleNamespace(store_in_memory_again=refused)
    held: Any = SimpleNamespace(messages=messages)
    backlog = MemoryBacklog(held, jobs)
    for _ in range(8):
        await backlog.run()
    await database.close()
    assert tried[:2] == ["e", "d"]
    assert set(tried) == set("abcde")
    assert tried.count("e") > 1  # and the newest ones come again


async def test_a_conversation_that_is_deleted_amid_its_job_ends_it_quietly() -> None:
    async def gone(*_: Any) -> Any:
        raise conversation_missing("c")

    async def first(*_: Any) -> tuple[str, str]:
        return "m", "tea ?"

    async def unembedded(*_: Any) -> list[MemoryMessage]:
        return [MemoryMessage(message_id="m", text="tea ?")]

    async def unmarked(*_: Any) -> set[str]:
        return set()

    conversations: Any = SimpleNamespace(
        first_question=first,
        local_only_among=unmarked,
        get=gone,
        named=gone,
        messages=SimpleNamespace(unembedded=unembedded),
    )
    unused: Any = None
    chores = Chores(unused, conversations, unused, unused, Settings())
    assert await chores.title(SCOPE, "c") == ""
    assert await chores.embed(SCOPE, "c") == 0


async def test_a_job_that_was_killed_after_it_stored_removes_what_has_left_its_conversation() -> None:
    """Its second attempt finds nothing to embed, and the deletion removed nothing: it came before the store."""
    removed: list[str] = []

    async def gone(*_: Any) -> Any:
        raise conversation_missing("c")

    async def unembedded(*_: Any) -> list[MemoryMessage]:
        return []

    async def current(ids: Collection[str]) -> set[str]:
        return {"stays"} & set(ids)

    async def delete(request: DeleteMessagesRequest, timeout: float) -> DeleteMessagesResponse:
        removed.extend(request.message_ids)
        return DeleteMessagesResponse(count=1)

    messages = SimpleNamespace(unembedded=unembedded, current=current)
    conversations: Any = SimpleNamespace(local_only_among=gone, get=gone, named=gone, messages=messages)
    stages: Any = SimpleNamespace(indexing=SimpleNamespace(DeleteMessages=delete))
    unused: Any = None
    chores = Chores(stages, conversations, unused, unused, Settings())
    assert await chores.embed(SCOPE, "c", ["stays", "left"]) == 0
    assert removed == ["left"]

"""Chat memory: the user's earlier messages as context; a failure never breaks the chat."""

import time
from collections.abc import Collection, Sequence

from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import (
    MESSAGE_ROLE_ASSISTANT,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_RETRIEVAL,
    Degradation,
    MemoryMessage,
)
from footnote_kit.degradations import degradation, word
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_text import question_context

from footnote_edge.conversations.conversations import Conversations
from footnote_edge.ports import Stages

CHARACTERS_PER_TOKEN = 4

_log = get_logger(__name__)


class MemorySearch:
    """Searches a user's own messages; on failure the context is empty."""

    def __init__(self, stages: Stages, conversations: Conversations) -> None:
        self._retrieval = stages.retrieval
        self._conversations = conversations

    async def search(
        self,
        scope: Scope,
        query: str,
        *,
        conversation_id: str = "",
        enabled: bool = True,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        bounds: TextBounds,
        timeout: float,
    ) -> retrieval.SearchMemoryResponse:
        """Return matching messages of other conversations; `enabled` is false when switched off or not searchable.

        `bounds` say whether the query may be embedded elsewhere.

        Raises only InvalidArgument, for options outside their ranges.
        """
        began = time.perf_counter()
        fields = {"user_id": scope.user_id, "conversation_id": conversation_id, "message_length": len(query)}
        if not enabled:
            _log.info("rag_disabled", **fields, **_figures(retrieval.SearchMemoryResponse(), began))
            return retrieval.SearchMemoryResponse(enabled=False)
        request = retrieval.SearchMemoryRequest(
            scope=scope,
            query=query,
            enabled=enabled,
            max_messages=max_messages,
            max_tokens=max_tokens,
            exclude_conversation_id=conversation_id,
            bounds=bounds,
        )
        try:
            found: retrieval.SearchMemoryResponse = await self._retrieval.SearchMemory(request, timeout=timeout)
            found = await self._readable(scope, found)
        except InvalidArgument:
            raise
        except FootnoteError as error:
            nothing = retrieval.SearchMemoryResponse()
            _log.error("rag_search_failed", **fields, error=error.reason, **_figures(nothing, began))
            effect = "Answered without earlier conversations."
            failed = degradation(PIPELINE_STAGE_RETRIEVAL, "MEMORY_UNAVAILABLE", effect, error.message)
            return retrieval.SearchMemoryResponse(enabled=False, degradations=[failed])
        if found.degradations:
            _log.error("rag_search_failed", **fields, error=word(found.degradations[0]), **_figures(found, began))
        else:
            _log.info("rag_context_built", **fields, **_figures(found, began))
        return found

    async def of_answer(self, scope: Scope, message_ids: Sequence[str]) -> retrieval.SearchMemoryResponse:
        """Return an earlier answer's memory messages as context, as far as they exist and are readable."""
        if not message_ids:
            return retrieval.SearchMemoryResponse(enabled=False)
        said = await self._conversations.messages.named(scope, message_ids)
        messages = [
            MemoryMessage(message_id=one.id, conversation_id=one.conversation_id, role=one.role, text=one.text)
            for one in said.messages
        ]
        return retrieval.SearchMemoryResponse(enabled=True, context=_context(messages), source_messages=messages)

    async def _readable(self, scope: Scope, found: retrieval.SearchMemoryResponse) -> retrieval.SearchMemoryResponse:
        """Drop deleted and replaced messages that are still in the index, then unreadable answers, and report these."""
        stored = self._conversations.messages
        there = await stored.current([one.message_id for one in found.source_messages])
        kept = [one for one in found.source_messages if one.message_id in there]
        answers = [one.message_id for one in kept if one.role == MESSAGE_ROLE_ASSISTANT]
        unreadable = await stored.unreadable(scope, answers) if answers else ()
        kept = [one for one in kept if one.message_id not in unreadable]
        effect = "Earlier answers from collections that you can no longer read were left out of memory."
        withheld = [degradation(PIPELINE_STAGE_EDGE, "SOURCES_WITHHELD", effect)] if unreadable else []
        return _keeping(found, kept, *withheld)


def _context(messages: Sequence[MemoryMessage]) -> str:
    return "\n".join(question_context.line(_speaker(one.role), one.text) for one in messages)


def _speaker(role: int) -> str:
    return "assistant" if role == MESSAGE_ROLE_ASSISTANT else "user"


def without(
    found: retrieval.SearchMemoryResponse, message_ids: Collection[str], effect: str
) -> retrieval.SearchMemoryResponse:
    """Return memory's result without some messages, and report the effect."""
    kept = [message for message in found.source_messages if message.message_id not in message_ids]
    return _keeping(found, kept, degradation(PIPELINE_STAGE_RETRIEVAL, "MEMORY_KEPT_HERE", effect))


def _keeping(
    found: retrieval.SearchMemoryResponse, kept: Sequence[MemoryMessage], *left_out: Degradation
) -> retrieval.SearchMemoryResponse:
    """Return memory's result with these of its messages, and why the others are left out."""
    if len(kept) == len(found.source_messages):
        return found
    return retrieval.SearchMemoryResponse(
        context=_context(kept),
        source_messages=kept,
        enabled=found.enabled,
        degradations=[*found.degradations, *left_out],
    )


def _figures(found: retrieval.SearchMemoryResponse, began: float) -> dict[str, object]:
    """Return the fields of every event on memory: counts and time, never texts."""
    return {
        "rag_enabled": found.enabled,
        "similar_messages_found": len(found.source_messages),
        "context_length": len(found.context),
        "context_tokens": len(found.context) // CHARACTERS_PER_TOKEN,
        "execution_time_ms": round((time.perf_counter() - began) * 1000, 1),
    }

"""SearchMemory: a user's own past messages as context for the next answer.

It never breaks the chat: any failure gives an empty context and `enabled` false, with the reason.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import Degradation, MemoryMessage, MessageRole
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.breaker import Guard
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_providers.egress.egress import UNBOUND
from footnote_text import question_context
from footnote_text.language import detect
from footnote_text.lexical import terms

from footnote_retrieval.model import degradation
from footnote_retrieval.ports import Embedder, MessageStore
from footnote_retrieval.settings import Settings

_log = get_logger("footnote.retrieval.memory")
_ROLES = {MessageRole.MESSAGE_ROLE_USER: "user", MessageRole.MESSAGE_ROLE_ASSISTANT: "assistant"}
_CHARS_PER_TOKEN = 4
_EFFECT = "Answered without memory of past conversations."


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Limits of a memory search: 1 to 10 messages, 100 to 4000 tokens at four characters each."""

    enabled: bool = True
    max_messages: int = 5
    max_tokens: int = 2000
    exclude_conversation_id: str = ""
    bounds: TextBounds = field(default_factory=lambda: UNBOUND)

    def __post_init__(self) -> None:
        if not 1 <= self.max_messages <= 10:
            raise InvalidArgument.field("max_messages", "must be between 1 and 10")
        if not 100 <= self.max_tokens <= 4000:
            raise InvalidArgument.field("max_tokens", "must be between 100 and 4000")


@dataclass(slots=True)
class MemoryResult:
    """The context, the messages in it, and whether memory was searched."""

    context: str = ""
    messages: list[MemoryMessage] = field(default_factory=list)
    enabled: bool = True
    degradations: list[Degradation] = field(default_factory=list)


def format_messages(messages: list[MemoryMessage], max_tokens: int) -> tuple[str, list[MemoryMessage]]:
    """Format messages as lines "[user] …" within the token budget; return the lines and their messages."""
    budget = max_tokens * _CHARS_PER_TOKEN
    lines: list[str] = []
    kept: list[MemoryMessage] = []
    length = 0
    for message in messages:
        line = question_context.line(_ROLES.get(message.role, "assistant"), message.text)
        added = len(line) + (1 if lines else 0)
        if length + added > budget:
            break
        lines.append(line)
        kept.append(message)
        length += added
    return "\n".join(lines), kept


def relevant(query: str, messages: list[MemoryMessage], floor: float) -> list[MemoryMessage]:
    """Return the messages that share a significant word with a query, or whose similarity is at least `floor`, 0 to 1.

    The nearest of a user's messages may still be unrelated, and unrelated messages mislead the answer.
    """
    language = detect(query)
    wanted = set(terms(query, language))
    return [one for one in messages if one.score >= floor or not wanted.isdisjoint(terms(one.text, language))]


class Memory:
    """Searches stored messages with the deployment's default embedding provider."""

    def __init__(self, store: MessageStore, embedder: Embedder, settings: Settings) -> None:
        self._store = store
        self._embedder = embedder
        self._timeout = settings.memory_timeout
        self._floor = settings.memory_floor
        self._breaker = Guard("memory search", settings.breaker_failures, settings.breaker_open)

    async def search(self, scope: Scope, query: str, options: MemoryOptions) -> MemoryResult:
        """Search the caller's own messages; failures give an empty context."""
        began = time.perf_counter()
        if not options.enabled:
            result = MemoryResult(enabled=False)
            self._report("disabled", scope, query, options, result, began)
            return result
        if not query.strip():
            result = MemoryResult()
            self._report("built", scope, query, options, result, began)
            return result
        try:
            found = await self._breaker.call(lambda: self._find(scope, query, options), self._timeout)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # Catch everything: a chat without memory is better than no chat.
            words = error.message if isinstance(error, FootnoteError) else type(error).__name__
            result = MemoryResult(enabled=False, degradations=[degradation("MEMORY_UNAVAILABLE", _EFFECT, words)])
            self._report("failed", scope, query, options, result, began, words)
            return result
        context, kept = format_messages(found, options.max_tokens)
        result = MemoryResult(context, kept)
        self._report("built", scope, query, options, result, began, found=len(found))
        return result

    async def _find(self, scope: Scope, query: str, options: MemoryOptions) -> list[MemoryMessage]:
        self._embedder.check(scope, EmbeddingSettings(), options.bounds)
        made = await self._embedder.embed_query(EmbeddingSettings(), query)
        space = f"messages_{len(made.vector)}"
        found = await self._store.search_messages(
            space, made.vector, scope.tenant_id, scope.user_id, options.max_messages,
            options.exclude_conversation_id, self._timeout,
        )  # fmt: skip
        # Search finds only messages with vectors, so none lacks one.
        return await asyncio.to_thread(relevant, query, found, self._floor)

    @staticmethod
    def _report(
        outcome: str, scope: Scope, query: str, options: MemoryOptions, result: MemoryResult, began: float,
        error: str = "", found: int = 0,
    ) -> None:  # fmt: skip
        # Edge emits the events of a question (`rag_context_built` and others), since it knows the asker.
        fields = {
            "outcome": outcome,
            "user_id": scope.user_id,
            "conversation_id": options.exclude_conversation_id,
            "message_length": len(query),
            "similar_messages_found": found,
            "context_length": len(result.context),
            "context_tokens": len(result.context) // _CHARS_PER_TOKEN,
            "rag_enabled": result.enabled,
            "execution_time_ms": round((time.perf_counter() - began) * 1000, 1),
        }
        if error:
            _log.error("memory_searched", error=error, **fields)
        else:
            _log.info("memory_searched", **fields)

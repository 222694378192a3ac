"""Background chores of conversations: titles and memory. Each is idempotent."""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_kit.collection_settings import shared
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_text import tokens

from footnote_edge.collections.bounds import CollectionBounds
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.message_bounds import bounds_of
from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Spent
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

T = TypeVar("T")

EMBED_BATCH = 100
FORGET_BATCH = 100
EMBEDDER_SECONDS = 1800.0
"""Least seconds between two changes of the default embedder that count."""
TITLE_LENGTH = 60
TITLE_SECONDS = 10.0
"""Seconds that a job waits for a model to write a title: meanwhile it holds a place of the background queue."""

_log = get_logger(__name__)


class Chores:
    """The work of the jobs of conversations."""

    def __init__(
        self,
        stages: Stages,
        conversations: Conversations,
        bounds: CollectionBounds,
        meter: Meter,
        settings: Settings,
    ) -> None:
        self._stages = stages
        self._conversations = conversations
        self._bounds = partial(bounds_of, conversations, bounds, unnamed_is_any=True)
        self._meter = meter
        self._ceiling = settings.retry_ceiling_seconds
        self._timeout = settings.call_timeout_seconds
        self._changed = -math.inf
        self._embedder = ""
        """The deployment's default embedder, as indexing named it last."""

    async def title(self, scope: Scope, conversation_id: str) -> str:
        """Title a conversation after its first message and return the title; empty if it has one or is deleted."""

        def give_up(error: FootnoteError, waited: float) -> None:
            if waited > TITLE_SECONDS:
                raise error

        first = await self._conversations.first_question(conversation_id)
        if first is None:
            return ""
        message_id, question = first
        try:
            bounds = (await self._bounds(scope, conversation_id, [message_id])).each[message_id]
        except NotFound:  # deleted meanwhile
            return ""
        settings = await self._model(scope, conversation_id)
        request = generation.GenerateTitleRequest(scope=scope, first_message=question, settings=settings, bounds=bounds)
        try:
            ask = partial(self._stages.generation.GenerateTitle, request, timeout=self._timeout)
            response = await until_available(ask, self._ceiling, give_up=give_up)
            self._meter.charge(scope.tenant_id, Spent.of(response.usage), scope.user_id)
            title = response.title
        except FootnoteError as error:
            # Without a model's title the conversation gets the beginning of its question.
            _log.warning("title_failed", conversation_id=conversation_id, reason=error.reason)
            title = ""
        title = title.strip() or shortened(question)
        await self._conversations.set_title(scope, conversation_id, title, message_id)
        return title

    async def embed(self, scope: Scope, conversation_id: str, message_ids: Sequence[str] = ()) -> int:
        """Embed the conversation's new messages for memory search and return their number.

        Those of `message_ids` that have left the conversation are removed: an attempt that was killed may have stored
        them after their deletion had removed them.
        """
        embedded = await self._embed_new(scope, conversation_id)
        if message_ids:
            await self.forget(scope, conversation_id, message_ids)
        return embedded

    async def _embed_new(self, scope: Scope, conversation_id: str) -> int:
        messages = await self._conversations.messages.unembedded(conversation_id)
        try:
            bounds = (await self._bounds(scope, conversation_id, [one.message_id for one in messages])).each
        except NotFound:  # deleted meanwhile
            return 0
        several = defaultdict[bytes, list[MemoryMessage]](list)
        for one in messages:
            several[bounds[one.message_id].SerializeToString(deterministic=True)].append(one)
        batches = [
            await self._embed(scope, conversation_id, each, bounds[each[0].message_id]) for each in several.values()
        ]
        return sum(batches)

    async def _embed(
        self, scope: Scope, conversation_id: str, messages: Sequence[MemoryMessage], bounds: TextBounds
    ) -> int:
        """Embed messages with the same bounds, and return their number."""
        for start in range(0, len(messages), EMBED_BATCH):
            batch = messages[start : start + EMBED_BATCH]
            request = indexing.IndexMessagesRequest(scope=scope, messages=batch, bounds=bounds)
            call = partial(self._stages.indexing.IndexMessages, request, timeout=self._timeout)
            try:
                response = await self._until_available(call)
            except FootnoteError as error:
                # Unembedded messages stay out of memory search until the next message retries them.
                _log.warning("messages_not_embedded", conversation_id=conversation_id, reason=error.reason)
                return start
            ids = [message.message_id for message in batch]
            charged = await self._conversations.messages.mark_embedded(ids, response.embedder)
            texts = [one.text for one in batch if one.message_id not in charged]  # a change of embedder is free
            size = await asyncio.to_thread(lambda texts: sum(map(tokens.count, texts)), texts)
            self._meter.charge(scope.tenant_id, Spent(embedding_tokens=size), scope.user_id)
            await self._note_embedder(response.embedder)
            # Messages may leave the conversation during embedding; memory then forgot them before they were stored.
            await self.forget(scope, conversation_id, ids)
        return len(messages)

    async def _note_embedder(self, embedder: str) -> None:
        """Give what another embedder embedded back to the backlog: memory no longer finds it.

        While replicas with two embedders answer in turns, as during a rolling change, that seldom happens.
        """
        now = time.monotonic()
        if not embedder or embedder == self._embedder:
            return
        if now - self._changed > EMBEDDER_SECONDS:
            count = await self._conversations.messages.unmark_embedded_by_others(embedder)
            self._embedder, self._changed = embedder, now if count else self._changed
            if count:
                _log.warning("messages_of_another_embedder", messages=count)
        else:
            self._embedder = ""  # the first answer after the pause decides

    async def _model(self, scope: Scope, conversation_id: str) -> GenerationSettings:
        """Return the model that answers in a conversation: its collections', as far as they can be looked up."""
        try:
            names = (await self._conversations.get(scope, conversation_id)).collections
            requests = [indexing.GetCollectionRequest(scope=scope, collection=name) for name in names]
            calls = (self._stages.indexing.GetCollection(one, timeout=self._timeout) for one in requests)
            found = await asyncio.gather(*calls)
        except FootnoteError:
            return GenerationSettings()
        return shared([one.collection.settings for one in found]).generation if found else GenerationSettings()

    async def forget(self, scope: Scope, conversation_id: str, message_ids: Sequence[str] = ()) -> int:
        """Remove a conversation, or only some of its messages, from memory search; return the number removed.

        Messages that have come back to their conversation meanwhile stay.
        """
        if message_ids:
            there = await self._conversations.messages.current(message_ids)
            message_ids = [one for one in message_ids if one not in there]
            if not message_ids:
                return 0
        count = 0
        for start in range(0, max(len(message_ids), 1), FORGET_BATCH):
            request = indexing.DeleteMessagesRequest(
                scope=scope, conversation_id=conversation_id, message_ids=message_ids[start : start + FORGET_BATCH]
            )
            call = partial(self._stages.indexing.DeleteMessages, request, timeout=self._timeout)
            count += (await self._until_available(call)).count
        # Messages may come back, and be embedded, between the check above and their deletion: they are embedded again.
        if message_ids and (back := await self._conversations.messages.current(message_ids)):
            await self._conversations.messages.mark_embedded(list(back), embedded=False)
        return count

    async def _until_available(self, operation: Callable[[], Awaitable[T]]) -> T:
        return await until_available(operation, self._ceiling)


def shortened(text: str) -> str:
    """Return the beginning of a text as a title of at most 60 characters, cut between words."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[: TITLE_LENGTH - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut) + "…"

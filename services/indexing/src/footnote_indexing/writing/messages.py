"""Stores conversation messages for memory search."""

import asyncio
import hashlib
from collections.abc import Sequence
from weakref import WeakValueDictionary

from footnote.stages.v1 import scope_pb2, text_bounds_pb2
from footnote.types.v1 import answer_pb2, collection_pb2
from footnote_kit.errors import InvalidArgument, Unavailable
from footnote_kit.logs import get_logger
from footnote_providers.egress.egress import UNBOUND
from footnote_store.compiler import quote
from footnote_store.rows import MESSAGE_SPACES, MessageRow, message_key

from footnote_indexing.ports import ChunkStore
from footnote_indexing.writing.permitted import Permitted
from footnote_indexing.writing.vectorizers import Vectorizers

_MOST = 1000
_TRIES = 3

_log = get_logger("footnote.indexing.messages")


def _digest(settings: collection_pb2.EmbeddingSettings) -> str:
    return hashlib.sha256(settings.SerializeToString(deterministic=True)).hexdigest()[:16]


class Messages:
    """Embeds messages with the deployment's own provider and stores them, each for its user."""

    def __init__(self, store: ChunkStore, vectorizers: Vectorizers, permitted: Permitted) -> None:
        self._permitted = permitted
        self._store = store
        self._vectorizers = vectorizers
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def remember(
        self,
        scope: scope_pb2.Scope,
        messages: Sequence[answer_pb2.MemoryMessage],
        bounds: text_bounds_pb2.TextBounds = UNBOUND,
    ) -> tuple[int, str]:
        """Embed and store messages within these bounds; blank ones are left out.

        Returns how many were stored and a digest of the embedder's settings, 16 hex digits; "" if none was stored.
        """
        if len(messages) > _MOST:
            raise InvalidArgument.field("messages", f"must be at most {_MOST}")
        for message in messages:
            if not message.message_id or not message.conversation_id:
                raise InvalidArgument.field("messages", "must each have message_id and conversation_id")
        kept = list({one.message_id: one for one in messages if one.text.strip()}.values())
        if not kept:
            return 0, ""
        self._permitted.check_embedding(scope, collection_pb2.EmbeddingSettings(), bounds)
        vectorizer = await self._vectorizers.default()
        texts = [message.text for message in kept]
        keys = vectorizer.keys((scope.tenant_id, "user", scope.user_id), texts)
        embedded = await vectorizer.embed(keys, texts, {})
        space = await self._store.ensure_message_space(vectorizer.settings.dimensions)
        rows = [
            MessageRow(message, scope.tenant_id, scope.user_id, vector)
            for message, vector in zip(kept, embedded.vectors, strict=True)
        ]
        owner = f"{scope.tenant_id}\0{scope.user_id}"
        async with self._turns.setdefault(owner, asyncio.Lock()):
            return await self._write(space, rows), _digest(vectorizer.settings)

    async def _write(self, space: str, rows: Sequence[MessageRow]) -> int:
        """Write rows, each once: a concurrent write of an abandoned attempt would store it twice.

        Raises Unavailable when another attempt is still writing; a later retry finds that attempt finished.
        """
        ids = (quote(message_key(row.tenant_id, row.user_id, row.message.message_id)) for row in rows)
        expr = f"id in [{', '.join(ids)}]"
        for _ in range(_TRIES):
            written = await self._store.upsert_messages(space, rows)
            there = await self._store.count(space, expr)
            if there == len(rows):
                return written
            _log.warning("messages_doubled", rows=there, messages=len(rows))
            await self._store.delete(space, expr)
        raise Unavailable("The vector store holds other messages than were written", reason="STORE_UNAVAILABLE")

    async def forget(self, scope: scope_pb2.Scope, conversation_id: str, message_ids: Sequence[str] = ()) -> int:
        """Remove the messages of one of the user's conversations, or only those named; returns their number."""
        if not conversation_id:
            raise InvalidArgument.field("conversation_id", "is required")
        expr = (
            f"tenant_id == {quote(scope.tenant_id)} and user_id == {quote(scope.user_id)} "
            f"and conversation_id == {quote(conversation_id)}"
        )
        if message_ids:
            keys = (quote(message_key(scope.tenant_id, scope.user_id, one)) for one in message_ids)
            expr += f" and id in [{', '.join(keys)}]"
        return sum([await self._store.delete(space, expr) for space in await self._spaces()])

    async def _spaces(self) -> set[str]:
        """Return the spaces that may hold messages: the default embedder's, and those of vectors of other lengths.

        The default embedder may have been another one when a message was stored.
        """
        vectorizer = await self._vectorizers.default()
        space = await self._store.ensure_message_space(vectorizer.settings.dimensions)
        there = (await self._store.health()).get("rows", ())
        return {space, *(name for name in there if name.startswith(MESSAGE_SPACES))}

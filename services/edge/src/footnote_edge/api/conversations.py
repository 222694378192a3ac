"""Conversations, their messages, and chat memory."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from uuid import uuid4

from footnote.edge.v1.answers_pb2 import AskResponse
from footnote.edge.v1.conversations_pb2 import (
    Conversation,
    CreateConversationRequest,
    CreateConversationResponse,
    DeleteConversationRequest,
    DeleteConversationResponse,
    EditMessageRequest,
    GetConversationRequest,
    GetConversationResponse,
    GetSharedConversationRequest,
    GetSharedConversationResponse,
    ListConversationsRequest,
    ListConversationsResponse,
    ListMessagesRequest,
    ListMessagesResponse,
    RegenerateMessageRequest,
    RestoreMessageRequest,
    RestoreMessageResponse,
    SearchMemoryRequest,
    SearchMemoryResponse,
    ShareConversationRequest,
    ShareConversationResponse,
    UnshareConversationRequest,
    UnshareConversationResponse,
    UpdateConversationRequest,
    UpdateConversationResponse,
)
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote_kit.context import Call
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page, moment, sequence, text
from footnote_kit.validation import changed_fields

from footnote_edge.api.answer_parts import requested_parts, trim
from footnote_edge.api.services import Services, caller, seconds
from footnote_edge.conversations.conversations import Change, check_etag

_EDITABLE = ("title", "collections")


class ConversationsApi:
    """RPCs about conversations."""

    services: Services

    async def CreateConversation(self, request: CreateConversationRequest, context: Call) -> CreateConversationResponse:
        """Create a conversation."""
        scope, conversations = caller(), self.services.conversations
        collections = await self.services.collections.chosen(scope, request.collections)
        created = await self.services.request_ids.once(
            scope,
            request,
            lambda wanted: conversations.create(scope, request.title, collections, wanted),
            lambda made: conversations.get(scope, made),
        )
        return CreateConversationResponse(conversation=await self._shown(created))

    async def GetConversation(self, request: GetConversationRequest, context: Call) -> GetConversationResponse:
        """Return one conversation."""
        scope = caller()
        found = await self.services.conversations.get(scope, request.conversation_id)
        for shared in await self.services.conversations.sharing.of_conversation(scope, request.conversation_id):
            if shared.answer_id:
                found.shared_answers.append(shared)
            else:
                found.shared.CopyFrom(shared)
        return GetConversationResponse(conversation=await self._shown(found))

    async def ListConversations(self, request: ListConversationsRequest, context: Call) -> ListConversationsResponse:
        """List the caller's conversations, most recently used first; a query keeps those that contain the text."""
        scope = caller()
        page = Page.of(scope, request, kinds=(moment, text))
        found, token, total = await self.services.conversations.page(scope, page, request.query)
        return ListConversationsResponse(conversations=found, next_page_token=token, total_size=total)

    async def UpdateConversation(self, request: UpdateConversationRequest, context: Call) -> UpdateConversationResponse:
        """Change a conversation's title or collections."""
        scope, wanted = caller(), request.resource
        paths = changed_fields(request.update_mask, wanted, _EDITABLE)
        await self.services.conversations.get(scope, request.conversation_id)
        change = Change(title=wanted.title if "title" in paths else None)
        if "collections" in paths:
            change = replace(change, collections=await self.services.collections.chosen(scope, wanted.collections))
        changed = await self.services.conversations.change(scope, request.conversation_id, change, wanted.etag)
        return UpdateConversationResponse(conversation=await self._shown(changed))

    async def DeleteConversation(self, request: DeleteConversationRequest, context: Call) -> DeleteConversationResponse:
        """Delete a conversation with its messages and their entries in memory."""
        scope = caller()
        try:
            found = await self.services.conversations.get(scope, request.conversation_id)
        except NotFound:
            if not request.allow_missing:
                raise
            return DeleteConversationResponse()
        check_etag(found, request.etag)
        # Enqueue the job first: after a crash in between, memory forgets and the caller can delete the conversation
        # again.
        await self.services.jobs.forget(scope, request.conversation_id)
        await self.services.conversations.delete(scope, found, request.etag)
        return DeleteConversationResponse()

    async def ListMessages(self, request: ListMessagesRequest, context: Call) -> ListMessagesResponse:
        """List a conversation's messages, oldest first."""
        scope = caller()
        page = Page.of(scope, request, kinds=(sequence, sequence))
        await self.services.conversations.get(scope, request.conversation_id)
        found, token, total = await self.services.conversations.messages.page(
            scope, request.conversation_id, page, superseded=request.include_superseded
        )
        for message in found:
            if message.HasField("answer"):
                trim(message, request.include)
        return ListMessagesResponse(messages=found, next_page_token=token, total_size=total)

    async def RegenerateMessage(self, request: RegenerateMessageRequest, context: Call) -> AsyncIterator[AskResponse]:
        """Answer a question again, as a stream of events."""
        async with aclosing(self._regenerated(request)) as events:
            async for event in events:
                yield event

    async def EditMessage(self, request: EditMessageRequest, context: Call) -> AsyncIterator[AskResponse]:
        """Edit a question; its new answer is a stream of events."""
        async with aclosing(self._regenerated(request)) as events:
            async for event in events:
                yield event

    def _regenerated(self, request: RegenerateMessageRequest | EditMessageRequest) -> AsyncGenerator[AskResponse]:
        limit = seconds(self.services.settings.ask_timeout_seconds)
        return requested_parts(self.services.asker.regenerate(caller(), request, limit), request.include)

    async def RestoreMessage(self, request: RestoreMessageRequest, context: Call) -> RestoreMessageResponse:
        """Bring back a version of a question that an edit has put aside."""
        scope, conversations = caller(), self.services.conversations
        restored = await conversations.regenerations.restore(scope, request.message_id)
        self.services.jobs.remove_from_memory(scope, restored.conversation_id, restored.aside)
        if restored.back:
            self.services.jobs.store_in_memory(scope, restored.conversation_id, uuid4().hex, restored.back)
        conversation = await conversations.get(scope, restored.conversation_id)
        return RestoreMessageResponse(conversation=await self._shown(conversation))

    async def ShareConversation(self, request: ShareConversationRequest, context: Call) -> ShareConversationResponse:
        """Share a conversation, or one answer of it, inside the tenant."""
        scope, conversations = caller(), self.services.conversations
        found = await conversations.get(scope, request.conversation_id)
        # A conversation of an earlier version has names: readers may see other collections under these.
        asked = await self.services.collections.ids(scope, found.collections)
        shared = await conversations.sharing.share(scope, request.conversation_id, asked, request.answer_id)
        return ShareConversationResponse(shared=shared)

    async def UnshareConversation(
        self, request: UnshareConversationRequest, context: Call
    ) -> UnshareConversationResponse:
        """End the sharing of a conversation, or of one answer."""
        await self.services.conversations.sharing.unshare(caller(), request.conversation_id, request.answer_id)
        return UnshareConversationResponse()

    async def GetSharedConversation(
        self, request: GetSharedConversationRequest, context: Call
    ) -> GetSharedConversationResponse:
        """Return a shared conversation with a page of its messages."""
        scope = caller()
        page = Page.of(scope, request, kinds=(sequence, sequence))
        shared, found, token, total = await self.services.conversations.sharing.read(scope, request.share_id, page)
        for message in found:
            if message.HasField("answer"):
                trim(message, request.include)
        return GetSharedConversationResponse(shared=shared, messages=found, next_page_token=token, total_size=total)

    async def _shown(self, found: Conversation) -> Conversation:
        return (await self.services.conversations.shown(caller(), [found]))[0]

    async def SearchMemory(self, request: SearchMemoryRequest, context: Call) -> SearchMemoryResponse:
        """Find the caller's own past messages."""
        await self.services.quotas.admit(caller().tenant_id, request.query, caller().user_id)
        found = await self.services.asker.memory_search.search(
            caller(),
            request.query,
            enabled=request.enabled if request.HasField("enabled") else True,
            max_messages=request.max_messages if request.HasField("max_messages") else None,
            max_tokens=request.max_tokens if request.HasField("max_tokens") else None,
            bounds=TextBounds(),
            timeout=seconds(self.services.settings.call_timeout_seconds),
        )
        return SearchMemoryResponse(
            context=found.context,
            source_messages=found.source_messages,
            enabled=found.enabled,
            degradations=found.degradations,
        )

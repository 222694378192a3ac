"""What conversations need of their stores: conversations, messages, answers, feedback and deletions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from footnote.edge.v1.answers_pb2 import AskRequest, Feedback, Rating
from footnote.edge.v1.conversations_pb2 import Conversation, ConversationMessage, SharedConversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page, Position

from footnote_edge.conversations.origins import Origin


class AlreadyStored(Exception):
    """An answer of this id is stored."""


@dataclass(frozen=True, slots=True)
class ReadableMessages:
    """Messages, and whether the list is incomplete because some were left out or deleted."""

    messages: list[ConversationMessage]
    whole: bool


@dataclass(frozen=True, slots=True)
class Regeneration:
    """A question to be answered again.

    `asked` is its request. `topic` is the conversation's topic before it, from the answer `topic_of`. `replaced` is the
    current answer, empty for none. For an edited question, `tail` lists the messages to remove, itself included (with
    `keep`: to put aside); else None.
    """

    conversation_id: str
    question_id: str
    asked: AskRequest
    topic: str
    topic_of: str
    replaced: str
    tail: tuple[str, ...] | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """Messages that came back to a conversation, and those that were put aside for them."""

    conversation_id: str
    back: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A conversation's answer from which words were removed: memory search must forget it."""

    tenant_id: str
    user_id: str
    conversation_id: str
    message_id: str


class StoredConversations(Protocol):
    """Conversations of one user at a time; see `adapters.conversations.ConversationTable`."""

    async def add(
        self, scope: Scope, conversation_id: str, title: str, collections: Mapping[str, str]
    ) -> Conversation | None:
        """Create a conversation, with the names given to its collections by id; None if its own id exists."""

    async def get(self, scope: Scope, conversation_id: str) -> Conversation | None:
        """Return a conversation of the user."""

    async def page(
        self, scope: Scope, position: Position | None, most: int
    ) -> tuple[list[Conversation], Conversation | None, int]:
        """Return conversations as `listed` does, with their counts of messages; and the total."""

    async def listed(
        self, scope: Scope, position: Position | None, most: int
    ) -> tuple[list[Conversation], Conversation | None]:
        """Return conversations after a position, most recently used first; the last one if more follow."""

    async def counts(self, conversation_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of current messages in each conversation."""

    async def named(self, conversation_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the names given to the collections of conversations, by id; names alone stand for themselves."""

    async def change(self, scope: Scope, seen: Conversation, values: Mapping[str, str], *, unchanged: bool) -> bool:
        """Change a conversation, if it is still as `seen` where `unchanged` is set; return whether it was changed."""

    async def set_title(self, scope: Scope, conversation_id: str, title: str, question_id: str) -> None:
        """Give an untitled conversation a title made of one of its questions, if that has not left it meanwhile."""

    async def delete(self, scope: Scope, seen: Conversation, *, unchanged: bool) -> bool:
        """Delete a conversation with its messages and their feedback, under the same condition as `change`."""

    async def restrict_to_local(self, scope: Scope, conversation_id: str) -> None:
        """Mark the conversation, permanently, as holding texts that must stay on this machine."""

    async def local_only_among(self, conversation_ids: Collection[str]) -> set[str]:
        """Return those conversations that are marked so."""

    async def first_question(self, conversation_id: str) -> tuple[str, str] | None:
        """Return id and text of an untitled conversation's first question; None if it has a title or is deleted."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A shared conversation or answer: the collections that it asked then, and the ids of messages that are shared."""

    shared: SharedConversation
    conversation_id: str
    collection_ids: tuple[str, ...]
    message_ids: tuple[str, ...]


class StoredShares(Protocol):
    """Shared conversations; see `adapters.shares.ShareTable`."""

    async def share(self, scope: Scope, conversation_id: str, collection_ids: Sequence[str]) -> SharedConversation:
        """Share a conversation with its current messages, and the ids of its collections.

        Raises NotFound if it is not the user's.
        """

    async def share_answer(
        self, scope: Scope, conversation_id: str, answer_id: str, collection_ids: Sequence[str]
    ) -> SharedConversation:
        """Share one answer with its question, under the same conditions.

        Raises NotFound if the conversation is not the user's or has no such answer now, FailedPrecondition if too many
        are shared.
        """

    async def unshare(self, scope: Scope, conversation_id: str, answer_id: str = "") -> None:
        """End every sharing of a conversation, or that of one answer; raises NotFound if it is not the user's."""

    async def of_conversation(self, scope: Scope, conversation_id: str) -> list[SharedConversation]:
        """Return how the user's conversation and its answers are shared, oldest first."""

    async def get(self, tenant_id: str, share_id: str) -> Shared | None:
        """Return a shared conversation or answer of a tenant."""


class StoredMessages(Protocol):
    """Messages with all their words; see `adapters.messages.MessageTable`."""

    async def page(
        self, conversation_id: str, page: Page, *, superseded: bool = False, shared: Shared | None = None
    ) -> tuple[list[ConversationMessage], str, int]:
        """Return a page of a conversation's messages, oldest first; the next page's token; the total.

        Includes replaced answers if `superseded`; only messages that are shared, if `shared`.
        """

    async def of_user(
        self, scope: Scope, message_ids: Collection[str], *, answers_only: bool = False
    ) -> list[ConversationMessage]:
        """Return the user's messages by id, in any order."""

    async def last_answers(self, conversation_ids: Sequence[str]) -> dict[str, str]:
        """Return the id of the last answer in each conversation."""

    async def repeated(self, scope: Scope, hashes: Sequence[str]) -> dict[str, set[str]]:
        """Return the ids of the user's answers whose text hashes are given, by hash."""

    async def current(self, message_ids: Collection[str]) -> set[str]:
        """Return those messages that still have their words, belong to a conversation, and are not replaced."""

    async def history(self, conversation_id: str, limit: int, before: str) -> list[ConversationMessage]:
        """Return the last `limit` messages of a conversation or, if `before` exists, those before it."""

    async def add_question(self, scope: Scope, conversation_id: str, message_id: str, asked: AskRequest) -> None:
        """Add a question, once under its id."""

    async def add_answer(
        self, scope: Scope, conversation_id: str, answer: ConversationMessage, topic: str, origins: set[Origin]
    ) -> None:
        """Add an answer; raises as `Messages.add_answer`."""

    async def unembedded(self, conversation_id: str) -> list[ConversationMessage]:
        """Return the messages that are not marked as held by memory search, oldest first."""

    async def unremembered(self, before: datetime, most: int) -> tuple[list[tuple[str, str, str]], datetime | None]:
        """Return tenant, user and id of conversations with such messages older than a time, newest first.

        Then the time with which to ask for the rest, None if there is none.
        """

    async def mark_embedded(self, message_ids: Sequence[str], embedder: str = "", *, embedded: bool = True) -> set[str]:
        """Mark messages as held by memory search, with vectors of this embedder, or as not held.

        Returns the ids of those that an embedder embedded before.
        """

    async def unmark_embedded_by_others(self, embedder: str) -> int:
        """Mark messages that another embedder embedded as not held; returns how many."""

    async def conversations_with(self, conversation_ids: Sequence[str], text: str, *, answers: bool) -> set[str]:
        """Return those conversations with a question, or any message with `answers`, that contains a text."""

    async def answers_with(self, conversation_ids: Sequence[str], text: str) -> list[tuple[str, str]]:
        """Return conversation and id of answers that contain a text."""


class Regenerations(Protocol):
    """Replaces a question or its answer atomically; see `adapters.regeneration.RegenerationTable`."""

    async def regenerated(self, scope: Scope, message_id: str) -> Regeneration:
        """Return the question that a message is or answers; raises Aborted for a replaced answer."""

    async def edited(self, scope: Scope, message_id: str, *, keep: bool) -> Regeneration:
        """Return the question that a message is, with all messages to remove, or to put aside with `keep`."""

    async def restore(self, scope: Scope, message_id: str) -> Restored:
        """Swap a version of a question that was put aside with the one in its place; raises Aborted where none is."""

    async def replace(
        self,
        scope: Scope,
        turn: Regeneration,
        question: tuple[str, AskRequest],
        answer: ConversationMessage,
        topic: str,
        origins: set[Origin],
        *,
        local_only: bool,
    ) -> tuple[str, ...]:
        """Put an answer, and an edited question by id and request, in place; return the ids of removed messages.

        `local_only` marks the conversation, permanently, as holding texts that must stay on this machine. Raises
        Aborted if the messages to replace have changed, AlreadyStored if this very answer exists already.
        """


class StoredAnswers(Protocol):
    """Answers of one user at a time; see `adapters.answers.AnswerTable`."""

    async def add(self, scope: Scope, answer: ConversationMessage, origins: set[Origin]) -> None:
        """Store a standalone answer with its origins; raises AlreadyStored."""

    async def get(self, scope: Scope, answer_id: str, since: datetime) -> ConversationMessage | None:
        """Return an answer of the user: of a conversation, or a standalone one made after a time."""

    async def delete(self, scope: Scope, answer_id: str, conversation_id: str) -> list[str]:
        """Delete an answer and those that it has replaced; return the ids of what was deleted."""

    async def sweep(self, before: datetime) -> int:
        """Delete standalone answers made before a time; return how many there were."""


class StoredFeedback(Protocol):
    """Verdicts, one per user, answer and citation; see `adapters.feedback.FeedbackTable`."""

    async def put(self, scope: Scope, feedback: Feedback) -> None:
        """Store a verdict in place of an earlier one."""

    async def remove(self, scope: Scope, answer_id: str, citation: int) -> None:
        """Delete a verdict, if any."""

    async def page(
        self, scope: Scope, rating: Rating.ValueType, page: Page, conversation_id: str, *, everyones: bool
    ) -> tuple[list[Feedback], str, int]:
        """Return a page, newest first, the next page's token, and the total: the user's own, or `everyones`."""


class Origins(Protocol):
    """Origins of messages, and which of them are deleted; see `adapters.origins.OriginTable`."""

    async def of(self, message_ids: Iterable[str]) -> dict[str, set[Origin]]:
        """Return the origins of messages, by message id; messages without origins are missing."""

    async def about(self, message_ids: Iterable[str]) -> dict[str, set[str]]:
        """Return the names and ids of the collections that messages are about; nothing for a message of all of them.

        They are the ones that its question named, and the origins of the answers to that question.
        """

    async def deleted(self, message_ids: Iterable[str]) -> set[str]:
        """Return those messages with a deleted origin."""

    async def gone(self, origins: Collection[Origin], since: datetime | None = None) -> set[str]:
        """Return the ids of deleted documents and collections among the origins, and of rows deleted `since` then."""

    async def rows_gone(self, origins: Collection[Origin], since: datetime) -> set[Origin]:
        """Return those origins that are rows with own vectors deleted `since` then."""

    async def noted(self, ids: Iterable[str]) -> set[str]:
        """Return those ids of documents and collections, and hashes of texts, that are noted as deleted."""

    async def page(self, after: str, most: int) -> list[tuple[str, str]]:
        """Return collections and documents of all origins: of the next `most` documents after one, by their ids."""


class Forgetting(Protocol):
    """Removes deleted documents from stored answers of all users; see `adapters.forgetting.ForgettingTable`."""

    async def documents(self, document_ids: Sequence[str]) -> list[Forgotten]:
        """Remove documents from every answer derived from them; return those in conversations. Idempotent."""

    async def collection(self, collection_id: str) -> list[Forgotten]:
        """Remove a collection from every answer derived from it; delete such standalone answers."""

    async def rows(self, collection_id: str, ids: Sequence[str]) -> list[Forgotten]:
        """Remove rows with own vectors, or documents of one collection, from every answer derived from them."""

    async def rows_noted(self, collection_id: str, ids: Sequence[str]) -> list[Forgotten]:
        """Remove what `rows` has noted from answers stored since; ids in use again end no further answer."""

    async def sweep(self) -> list[Forgotten]:
        """Remove origins that were deleted while an answer was written, and drop old notes."""


def conversation_missing(conversation_id: str) -> NotFound:
    """Return the error for a missing conversation."""
    return NotFound(f"Conversation '{conversation_id}' not found", reason="CONVERSATION_NOT_FOUND")

"""Opens a question: its conversation and history first, then its settings and the storing of it beside the steps."""

from __future__ import annotations

from collections.abc import Awaitable

from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote_kit import names
from footnote_kit.errors import FootnoteError
from opentelemetry import trace

from footnote_edge.asking import thread as threads
from footnote_edge.asking.answerers import Answerer
from footnote_edge.asking.precedence import settings_of
from footnote_edge.asking.question import Draft, Question, QuestionSettings
from footnote_edge.asking.storing import in_background, store_question
from footnote_edge.asking.thread import EarlierMessages, Thread, still_there


async def open_question(question: Question) -> Draft:
    """Return an empty draft with the question's conversation.

    The lookup of its settings and of what answers it, and the storing of the question, run beside the steps.
    """
    thread = await _thread(question)
    settings = question.tasks.start(settings_of(question, thread))
    recording = question.tasks.start(store_question(question, thread, lambda: settings))
    return Draft(thread, settings, recording, question.tasks.start(_answerer(question, settings)))


async def close_question(question: Question, draft: Draft) -> None:
    """Cancel the side tasks; a question not stored yet is stored in the background."""
    unrecorded = not draft.recording.done()
    await question.tasks.cancel()
    if unrecorded:
        in_background(question, store_question(question, draft.thread, lambda: settings_of(question, draft.thread)))


async def _thread(question: Question) -> Thread:
    conversation: Conversation | None = None
    with question.timings.timed(PIPELINE_STAGE_EDGE, "history"):
        if question.request.conversation_id:
            conversation = await _conversation(question)
        history = await _history(question)
    if not history.whole:
        effect = "Earlier answers that you can no longer read were left out."
        question.timings.degrade(PIPELINE_STAGE_EDGE, "HISTORY_WITHHELD", effect)
    question.manifest.history(history)
    if conversation is None:
        local_only = question.replayed is not None and question.replayed.local_only
        return Thread(None, history, list(question.request.collections), local_only)
    question.manifest.conversation(conversation.collections)
    collections = list(question.manifest.manifest.collections)
    all_deleted = False
    if collections and not question.request.collections:
        collections = await still_there(question.tools.bounds, question.scope, collections, question.timings)
        all_deleted = not collections
    trace.get_current_span().set_attribute(names.CONVERSATION_ID, question.request.conversation_id)
    return Thread(conversation, history, collections, conversation.local_only, all_deleted)


async def _conversation(question: Question) -> Conversation:
    """Return the question's conversation; its topic is that before a regenerated question."""
    conversations, regeneration = question.tools.conversations, question.regeneration
    conversation = await conversations.get(question.scope, question.request.conversation_id)
    if regeneration is not None:
        hidden = await conversations.messages.unreadable(question.scope, [regeneration.topic_of])
        conversation.topic = "" if hidden else regeneration.topic
    return conversation


async def _history(question: Question) -> EarlierMessages:
    conversations, bounds = question.tools.conversations, question.tools.bounds
    conversation_id = question.request.conversation_id
    if not conversation_id:
        return await threads.given(conversations.messages, bounds, question.scope, question.request.history)
    regeneration = question.regeneration
    before = regeneration.question_id if regeneration is not None else question.id
    most = question.tools.settings.history_messages
    seconds = question.deadline.share(PIPELINE_STAGE_EDGE)
    return await threads.of_conversation(conversations, bounds, question.scope, conversation_id, most, before, seconds)


async def _answerer(question: Question, settings: Awaitable[QuestionSettings]) -> Answerer:
    counting = await settings
    try:
        return await question.answerer(counting.model, counting.bounds)
    except FootnoteError:
        return Answerer()  # the generation call will report the error

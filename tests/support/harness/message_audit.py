"""Compares conversations, messages, memory and keys with what was acknowledged, in both directions."""

from __future__ import annotations

from collections import Counter

from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import conversations_pb2 as talk
from footnote.edge.v1 import keys_pb2 as keys
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER
from footnote_kit.errors import NotFound, Unauthenticated

from support.deployment import Deployment
from support.harness import reference_model as model
from support.harness.caller import Caller, bearer
from support.harness.reference_model import Presence, ReferenceModel
from support.harness.storage_audit import memory_rows
from support.harness.tables import Tables


async def conversations(caller: Caller, world: ReferenceModel) -> list[str]:
    """Compare conversations and their messages with the model."""
    request = talk.ListConversationsRequest(page_size=1000)
    listed = {one.id: one for one in await caller.pages("ListConversations", request, "conversations")}
    found = [
        f"ghost: no caller began conversation {one}" for one in listed.keys() - {one.id for one in world.conversations}
    ]
    for one in world.conversations:
        there = listed.get(one.id)
        if one.presence is Presence.THERE and there is None:
            found.append(f"lost: conversation {one.id}")
        elif one.presence is Presence.GONE and there is not None:
            found.append(f"ghost: conversation {one.id} was deleted")
        elif there is not None:
            if not one.title.allows(there.title):
                found.append(f"differs: conversation {one.id} has title {there.title!r}, acknowledged was {one.title}")
            found += await _messages(caller, one)
    return found


async def ratings(caller: Caller, world: ReferenceModel) -> list[str]:
    """Compare ratings with the model: each acknowledged one is listed, and only for existing answers."""
    request = answers.ListFeedbackRequest(page_size=1000)
    listed = {one.answer_id: one.rating for one in await caller.pages("ListFeedback", request, "feedback")}
    found = []
    for one in world.conversations:
        for question in one.questions:
            rating = listed.pop(question.answer_id, 0)
            if one.presence is Presence.THERE and not question.rating.allows(rating):
                found.append(f"lost: answer {question.answer_id} has rating {rating}, not {question.rating}")
            elif one.presence is Presence.GONE and rating:
                found.append(f"ghost: the rating of answer {question.answer_id} outlives its conversation")
    return found + [f"ghost: no caller rated answer {one}" for one in listed]


async def _messages(caller: Caller, one: model.Conversation) -> list[str]:
    request = talk.ListMessagesRequest(conversation_id=one.id, page_size=1000, include_superseded=True)
    try:
        messages = await caller.pages("ListMessages", request, "messages")
    except NotFound:
        return [f"lost: the messages of conversation {one.id}"]
    found = []
    asked = Counter(each.text for each in messages if each.role == MESSAGE_ROLE_USER)
    ids = {each.id for each in messages}
    answered = Counter(each.question_id for each in messages if each.role == MESSAGE_ROLE_ASSISTANT)
    for question in one.questions:
        count = asked.pop(question.text, 0)
        if count > 1:
            found.append(f"doubled: question {question.question_id or question.text!r} is there {count} times")
        if question.certain and question.answer_id and (count == 0 or {question.question_id, question.answer_id} - ids):
            found.append(f"lost: question {question.question_id} or its answer {question.answer_id}")
    found += [f"ghost: conversation {one.id} has a question that no caller asked" for _ in asked]
    found += [f"doubled: question {of} has {count} answers" for of, count in answered.items() if count > 1]
    return found


async def memory(running: Deployment, tables: Tables, world: ReferenceModel) -> list[str]:
    """Compare the rows of memory with the messages, and count those not indexed yet: a kill may delay them 15 minutes.

    A message that is marked as indexed has its row, and each row has its message, unless that went with commits whose
    loss was accepted. Answers may lose theirs: when a document is deleted, answers that derive from it are forgotten.
    """
    query = "SELECT id, conversation_id, role, embed_time FROM messages WHERE superseded_by IS NULL"
    messages = await tables.read("edge", query)
    rows = Counter(str(one["id"]).rpartition(":")[2] for one in await memory_rows(running))
    found = [f"doubled: message {one} has {count} rows in memory" for one, count in rows.items() if count > 1]
    known = {row[0]: row for row in messages if row[1] is not None}
    ghosts = rows.keys() - known.keys() - world.lost_messages
    found += [f"ghost: memory holds {one}, which is no message" for one in ghosts]
    owed = 0
    for message_id, (_, _, role, embedded) in known.items():
        if message_id in rows or role != MESSAGE_ROLE_USER:
            continue
        if embedded is not None:
            found.append(f"lost: question {message_id} was remembered, and memory lacks it")
        else:
            owed += 1
    world.counts["questions owed to memory"] = owed
    return found


async def api_keys(caller: Caller, world: ReferenceModel) -> list[str]:
    """Compare keys with the model, and call with those whose secret is known."""
    listed = await caller.pages("ListKeys", keys.ListKeysRequest(page_size=1000), "keys")
    usable = {one.id for one in listed}
    labelled = Counter(one.label for one in listed)
    found = [f"doubled: key {label!r} is there {count} times" for label, count in labelled.items() if count > 1]
    known = {one.id for one in world.keys}
    found += [
        f"ghost: no caller made key {one.label!r}" for one in listed if one.id not in known and one.label != "harness"
    ]
    for one in world.keys:
        if one.presence is Presence.THERE and one.id not in usable:
            found.append(f"lost: key {one.id}")
        elif one.presence is Presence.GONE and one.id in usable:
            found.append(f"ghost: key {one.id} was revoked")
        if one.secret:
            works = await _works(caller, one.secret)
            if works != (one.id in usable):
                found.append(
                    f"differs: key {one.id} is {one.presence.value} and {'works' if works else 'does not work'}"
                )
    return found


async def _works(caller: Caller, secret: str) -> bool:
    try:
        await caller.call("ListConversations", talk.ListConversationsRequest(page_size=1), metadata=bearer(secret))
    except Unauthenticated:
        return False
    return True

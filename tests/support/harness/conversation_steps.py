"""The steps of a lane that concern conversations, questions and keys."""

from __future__ import annotations

from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import conversations_pb2 as talk
from footnote.edge.v1 import keys_pb2 as keys
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_kit.degradations import word

from support.harness import reference_model as model
from support.harness.caller import Caller, Outcome
from support.harness.plan import Step
from support.harness.reference_model import Possible, Presence, ReferenceModel

ASKING = 40.0
"""Seconds of one attempt to ask."""


class ConversationSteps:
    """A lane's conversations and keys, by the plan's numbers, and its steps that concern them."""

    def __init__(self, world: ReferenceModel, caller: Caller, seed: int) -> None:
        self._world = world
        self._caller = caller
        self._seed = seed
        self._conversations: dict[int, model.Conversation] = {}
        self._keys: dict[int, model.Key] = {}

    def _id(self, step: Step) -> str:
        """Return the request id of a step, also used in the names of what it creates."""
        return f"r{self._seed}-{step.lane}-{step.number}-{step.kind}"

    def _answered(self, step: Step, outcome: Outcome) -> bool:
        """Return whether there is a result; a refusal is a problem, because the contract allows the call."""
        if outcome.error is not None:
            self._world.problem(f"lane {step.lane} step {step.number} {step.kind} was refused: {outcome.error!r}")
        return outcome.result is not None

    async def _converse(self, step: Step) -> bool:
        title = f"Talk {self._id(step)}"
        request = talk.CreateConversationRequest(title=title, request_id=self._id(step))
        outcome = await self._caller.retry(step, lambda: self._caller.call("CreateConversation", request))
        if not self._answered(step, outcome):
            return True
        one = model.Conversation(outcome.result.conversation.id, Possible(title))
        if step.repeat:
            again = await self._caller.retry(step, lambda: self._caller.call("CreateConversation", request))
            if again.result is None or again.result.conversation.id != one.id:
                self._world.problem(f"conversation {one.id} created again under its request id: {again}")
        self._conversations[step.number] = one
        self._world.conversations.append(one)
        return True

    async def _ask(self, step: Step) -> bool:
        one = self._conversations.get(step.other)
        if one is None:
            return False
        asked = model.Question(f"What is fact {step.number} of paper {model.word(step.content)}?")
        one.questions.append(asked)
        request = answers.AskRequest(question=asked.text, conversation_id=one.id, request_id=self._id(step))

        async def ask() -> answers.AskCompleted:
            completed: answers.AskCompleted = (await self._caller.stream("Ask", request, ASKING))[-1].completed
            return completed

        outcome = await self._caller.retry(step, ask, abandon=step.abandon)
        if outcome.error is not None and outcome.error.reason == "DOCUMENT_NOT_FOUND":
            return True  # a lane deleted the answer's sources before the answer came back
        if outcome.result is None:
            self._answered(step, outcome)
            return True
        asked.question_id = outcome.result.question_id
        if self._kept(outcome.result):
            asked.answer_id = outcome.result.answer.id
        if step.repeat:
            again = await self._caller.retry(step, ask)
            if again.result is not None and self._kept(again.result):
                asked.answer_id = again.result.answer.id
            if again.result is None or again.result.answer.id != outcome.result.answer.id:
                self._world.problem(f"question {asked.question_id} asked again under its request id: {again}")
        return True

    def _kept(self, completed: answers.AskCompleted) -> bool:
        """Return whether an answer was stored: one that could not be stored is returned with a degradation."""
        kept = "ANSWER_NOT_STORED" not in map(word, completed.degradations)
        self._world.counts["answers not stored"] += not kept
        return kept

    async def _rate(self, step: Step) -> bool:
        """Rate the newest answer of a conversation."""
        one = self._conversations.get(step.other)
        rated = next((each for each in reversed(one.questions) if each.answer_id), None) if one is not None else None
        if rated is None:
            return False
        rating = answers.RATING_UP if step.number % 2 else answers.RATING_DOWN
        request = answers.CreateFeedbackRequest(answer_id=rated.answer_id, rating=rating)
        outcome = await self._caller.retry(step, lambda: self._caller.call("CreateFeedback", request))
        if self._answered(step, outcome):
            rated.rating.acknowledged(rating, outcome.lost)
        return True

    async def _retitle(self, step: Step) -> bool:
        one = self._conversations.get(step.other)
        if one is None:
            return False
        title = f"Talk {self._id(step)}"
        request = talk.UpdateConversationRequest(conversation_id=one.id, resource=talk.Conversation(title=title))
        outcome = await self._caller.retry(
            step, lambda: self._caller.call("UpdateConversation", request), abandon=step.abandon
        )
        if outcome.result is not None:
            one.title.acknowledged(title, outcome.lost)
        elif outcome.error is None:
            one.title.maybe(title)
        else:
            self._answered(step, outcome)
        return True

    async def _forget(self, step: Step) -> bool:
        one = self._conversations.pop(step.other, None)
        if one is None:
            return False
        request = talk.DeleteConversationRequest(conversation_id=one.id, allow_missing=True)
        outcome = await self._caller.retry(step, lambda: self._caller.call("DeleteConversation", request))
        if self._answered(step, outcome):
            one.presence = Presence.GONE
        return True

    async def _key(self, step: Step) -> bool:
        request = keys.CreateKeyRequest(label=self._id(step), role=ROLE_READER, request_id=self._id(step))
        outcome = await self._caller.retry(step, lambda: self._caller.call("CreateKey", request))
        if not self._answered(step, outcome):
            return True
        one = model.Key(outcome.result.key.id, outcome.result.secret)
        if step.repeat:
            again = await self._caller.retry(step, lambda: self._caller.call("CreateKey", request))
            if again.result is None or again.result.key.id != one.id or again.result.secret:
                self._world.problem(f"key {one.id} made again under its request id")
        self._keys[step.number] = one
        self._world.keys.append(one)
        return True

    async def _revoke(self, step: Step) -> bool:
        one = self._keys.pop(step.other, None)
        if one is None:
            return False
        request = keys.RevokeKeyRequest(key_id=one.id)
        outcome = await self._caller.retry(step, lambda: self._caller.call("RevokeKey", request))
        if self._answered(step, outcome):
            one.presence = Presence.GONE
        return True

"""Chat models behind an OpenAI-compatible `/chat/completions`: OpenAI, Ollama, Gemini, vLLM, Anthropic and others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_SYSTEM, ChatMessage
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_kit.redact import redact
from footnote_kit.text_work import off_loop
from footnote_providers.dialects import Dialect
from footnote_providers.endpoints import Endpoint
from footnote_providers.openai_client import ChatPart, ChatRequest, OpenAIClient
from footnote_providers.thoughts import Thoughts
from footnote_text import tokens

from footnote_generation.ports import Finished, ModelEvent, ModelRequest, RetryableFailure, Stop, Thought, Words

_HEALTH_SECONDS = 5.0
_AFTER_END = 2.0
"""Seconds between events once the model has said why it ended: the usage follows, or nothing."""
_SHOWN = 50  # models shown of a long list
_STOPS = {
    **dict.fromkeys(("length", "max_tokens", "model_length"), Stop.LENGTH),
    **dict.fromkeys(
        ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal"), Stop.FILTERED
    ),
    **dict.fromkeys(("error", "abort", "aborted", "cancelled", "insufficient_system_resource"), None),
}
"""What services of this API say at an answer's end, beside the ordinary words; None where they broke it off.

From the documentation of OpenAI, Anthropic, Gemini, Mistral, OpenRouter, DeepSeek and vLLM.
"""
_ROLES = {MESSAGE_ROLE_SYSTEM: "system", MESSAGE_ROLE_ASSISTANT: "assistant"}
_OF_A_MESSAGE = 4  # extra tokens per message
USUAL_TEMPERATURE = 0.1
"""The default temperature; a model that does not take one is not asked for it."""
_SET_UP_WRONGLY = ("401", "403", "404")
"""HTTP statuses for a wrong key, address or model in the deployment: waiting does not help."""
_MISSED = ("temperature", "seed", "top_p", "frequency_penalty", "presence_penalty")
"""Settings that a request sets on purpose; a warning reports those that the model does not take."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A service of `footnote_providers.endpoints` with a chat API."""

    id: str
    default_model: str


PRESETS: tuple[Preset, ...] = (
    Preset("openai", "gpt-4o-mini"),
    Preset("ollama", "llama3.2"),
    Preset("gemini", "gemini-2.0-flash"),
    Preset("vllm", ""),
    Preset("anthropic", "claude-3-5-haiku-latest"),
)


class OpenAICompatible:
    """One model provider over the shared client; all answers share its connections."""

    def __init__(self, preset: Preset, endpoint: Endpoint, connect_timeout: float) -> None:
        self.id = preset.id
        self.default_model = endpoint.settings.model or preset.default_model
        self._endpoint = endpoint
        # The timeouts between words are handled outside, the same for every provider; only connecting has one here.
        self._client = OpenAIClient(
            endpoint, f"The model {preset.id}", timeout=None, connect_timeout=connect_timeout,
            metadata={"stage": "generation"},
        )  # fmt: skip

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream an answer; closing the generator closes the HTTP connection."""
        self.require()
        read = sum(len(message.text) for message in request.messages)
        asked = await off_loop(read, self._chat_request, request)
        reading = _StreamedAnswer(self._client.dialect(asked.model), asked)
        try:
            async with aclosing(self._client.chat(asked)) as parts:
                while (part := await _next(parts, ended=reading.stop is not None)) is not None:
                    for event in reading.take(part):
                        yield event
                    if reading.over:
                        break
        except Unavailable as error:
            if error.metadata.get("status") not in _SET_UP_WRONGLY:
                raise
            raise FailedPrecondition(error.message, reason=error.reason, metadata=error.metadata) from error
        for event in reading.rest():
            yield event
        # Without a finish reason the answer is incomplete, even if the connection closed in order.
        if reading.stop is not None:
            yield reading.finished(self._client.dialect(asked.model))

    def window(self, model: str) -> tuple[int, int]:
        """Return the size of a model's window in tokens, 0 if unknown, and those for reasoning.

        "" is the provider's own model.
        """
        dialect = self._client.dialect(model or self.default_model)
        return dialect.window, self._endpoint.settings.thinking_tokens if dialect.thinks else 0

    def require(self) -> None:
        """Raise FailedPrecondition if the public address would refuse every call for lack of a key."""
        self._endpoint.require("model")

    def _chat_request(self, request: ModelRequest) -> ChatRequest:
        messages = _alternating(request.messages)
        return ChatRequest(
            model=request.model or self.default_model,
            messages=messages,
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            stop=request.stop,
            seed=request.seed,
            top_p=request.top_p,
            frequency_penalty=request.frequency_penalty,
            presence_penalty=request.presence_penalty,
            prompt_tokens=sum(tokens.count(text) + _OF_A_MESSAGE for _, text in messages),
            schema=request.schema,
        )

    async def health(self) -> Mapping[str, Any]:
        """List the models; raises Unavailable(PROVIDER_FAILED) when that fails."""
        self.require()
        try:
            names = await self._client.models(_HEALTH_SECONDS)
        except RetryableFailure as error:
            raise Unavailable(f"The model {self.id} failed: {error.message}", reason="PROVIDER_FAILED") from error
        return {"model": self.default_model, "models": names[:_SHOWN], "model_count": len(names)}

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


async def _next(parts: AsyncGenerator[ChatPart, None], *, ended: bool) -> ChatPart | None:
    """Return the next part, None at the end.

    Once the model has ended its answer only the usage is missing: no failure and no wait for it loses the answer.
    """
    try:
        async with asyncio.timeout(_AFTER_END if ended else None):
            return await anext(parts, None)
    except (RetryableFailure, TimeoutError):
        if not ended:
            raise
        return None


class _StreamedAnswer:
    """One answer as it arrives: its words up to a stop text, its reasoning separately, and how it ended."""

    def __init__(self, dialect: Dialect, asked: ChatRequest) -> None:
        self._asked = asked
        self._thoughts = Thoughts(dialect.unmarked)
        # We apply stop texts too: only a call shows whether the model takes them.
        self._stops = Stops(asked.stop)
        self._model = ""
        self._tokens: tuple[int | None, int | None] = (None, None)
        self._refusal = False
        self.stop: Stop | None = None

    @property
    def over(self) -> bool:
        """Whether a stop text was found."""
        return self._stops.met

    def take(self, part: ChatPart) -> Iterator[ModelEvent]:
        """Yield the events of a part."""
        self._model = part.model or self._model
        if part.prompt_tokens is not None or part.completion_tokens is not None:
            self._tokens = (part.prompt_tokens, part.completion_tokens)
        if part.thought:
            self._thoughts.expect_no_thoughts()
            yield Thought(part.thought)
        if part.text:
            thought, said = self._thoughts.feed(part.text)
            if thought or not said:
                yield Thought(thought)
            if shown := self._stops.feed(said):
                yield Words(shown)
            if self._stops.met:
                self.stop = Stop.COMPLETE
        if part.refusal:
            self._refusal = True
            yield Words(part.refusal)
        if part.stop:
            self.stop = _STOPS.get(part.stop.lower().partition(":")[0].strip(), Stop.COMPLETE)

    def rest(self) -> Iterator[ModelEvent]:
        """Yield the text held back."""
        held = self._stops.feed(self._thoughts.end()) + self._stops.end()
        if held:
            yield Words(held)

    def finished(self, dialect: Dialect) -> Finished:
        """Return the end of the answer."""
        assert self.stop is not None
        asked = {name for name in _MISSED[1:] if getattr(self._asked, name) is not None}
        if self._asked.temperature != USUAL_TEMPERATURE:
            asked.add("temperature")
        return Finished(
            self.stop,
            *self._tokens,
            model=redact(self._model[:200]),
            refusal=self._refusal,
            left_out=[name for name in _MISSED if name in asked and not dialect.takes(name)],
        )


def _alternating(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """Return the messages as (role, text), without empty ones and without two of one role in a row.

    The templates of many models refuse both.
    """
    turns: list[tuple[str, str]] = []
    for message in messages:
        role, text = _ROLES.get(message.role, "user"), message.text
        if not text.strip():
            continue
        if turns and turns[-1][0] == role:
            turns[-1] = (role, f"{turns[-1][1]}\n\n{text}")
        else:
            turns.append((role, text))
    return turns


class Stops:
    """Passes words on up to the first stop text, which may arrive in pieces."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in texts if text]
        self._held = ""
        self.met = False

    def feed(self, text: str) -> str:
        """Take the next words; return those that certainly precede every stop text."""
        if self.met or not self._texts:
            return "" if self.met else text
        self._held += text
        places = [place for one in self._texts if (place := self._held.find(one)) >= 0]
        if places:
            self.met = True
            return self._held[: min(places)]
        keep = min(len(self._held), max(map(len, self._texts)) - 1)
        shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown

    def end(self) -> str:
        """Return the words held back."""
        return "" if self.met else self._held

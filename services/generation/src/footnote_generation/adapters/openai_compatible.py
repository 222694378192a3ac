"""Chat models behind an OpenAI-compatible `/chat/completions`: OpenAI, Ollama, Gemini, vLLM, Anthropic and others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_SYSTEM
from footnote_kit.errors import Unavailable
from footnote_kit.patience import retry_after
from footnote_kit.provider_calls import unconfigured
from footnote_kit.redact import redact, register
from footnote_providers.outbound import http_client
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from footnote_generation.ports import Finished, ModelEvent, ModelRequest, RetryableFailure, Stop, Words

_READ = 10_000  # characters of an error that are looked at
_STOPS = {"length": Stop.LENGTH, "max_tokens": Stop.LENGTH, "content_filter": Stop.FILTERED}


@dataclass(frozen=True, slots=True)
class Preset:
    """What is known of a provider: where it is, how it is named, and where it departs from the common form."""

    id: str
    display_name: str
    base_url: str
    default_model: str
    key_variable: str = ""
    """Setting that holds the key without which the public address refuses every call."""
    sends_usage: bool = True
    takes_seed: bool = True


PRESETS: tuple[Preset, ...] = (
    Preset("openai", "OpenAI or compatible", "https://api.openai.com/v1", "gpt-4o-mini", "FOOTNOTE_OPENAI_API_KEY"),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", "llama3.2"),
    Preset(
        "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.0-flash",
        "FOOTNOTE_GEMINI_API_KEY", takes_seed=False,
    ),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1", ""),
    Preset(
        "anthropic", "Anthropic", "https://api.anthropic.com/v1", "claude-3-5-haiku-latest",
        "FOOTNOTE_ANTHROPIC_API_KEY",
        takes_seed=False,
    ),
)  # fmt: skip


class OpenAICompatible:
    """One provider at one address; connections are shared by all answers."""

    def __init__(self, preset: Preset, base_url: str, api_key: str, default_model: str, connect_timeout: float) -> None:
        self.id = preset.id
        self.default_model = default_model or preset.default_model
        self.base_url = base_url or preset.base_url
        self._preset = preset
        register(api_key)
        self._lacks_key = bool(preset.key_variable) and not api_key and base_url in ("", preset.base_url)
        # Time-outs between words are kept outside, the same for every provider; here only connecting has one.
        timeout = httpx2.Timeout(None, connect=connect_timeout, pool=connect_timeout)
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            base_url=self.base_url,
            timeout=timeout,
            max_retries=0,
            http_client=http_client(self.base_url),
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream an answer; closing the generator closes the HTTP connection."""
        self.require()
        try:
            response = await self._client.chat.completions.create(**self._body(request))
        except openai.APIStatusError as error:
            raise _status_failure(error, self.id) from error
        except openai.APIConnectionError as error:
            raise RetryableFailure(f"no connection ({type(error.__cause__ or error).__name__})") from error
        try:
            async for event in self._events(response):
                yield event
        except openai.APIStatusError as error:
            raise _status_failure(error, self.id) from error
        except openai.APIError as error:
            # An error object inside the stream, or a connection that broke.
            raise RetryableFailure(_words(error)) from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise RetryableFailure(f"the connection broke ({type(error).__name__})") from error
        finally:
            await response.close()

    def require(self) -> None:
        """Raise FailedPrecondition where the public address would refuse every call for want of a key."""
        if self._lacks_key:
            needs = self._preset.key_variable
            raise unconfigured("model", self.id, needs, f"The model {self.id} needs a key: set {needs}")

    async def _events(self, response: openai.AsyncStream[ChatCompletionChunk]) -> AsyncGenerator[ModelEvent, None]:
        stop: Stop | None = None
        refusal = False
        usage: Any = None
        model = ""
        async for chunk in response:
            model = chunk.model or model
            usage = chunk.usage or usage
            for choice in chunk.choices:
                if choice.delta is not None and choice.delta.content:
                    yield Words(choice.delta.content)
                if choice.delta is not None and choice.delta.refusal:
                    refusal = True
                    yield Words(choice.delta.refusal)
                if choice.finish_reason:
                    stop = _STOPS.get(choice.finish_reason, Stop.COMPLETE)
        # Without a finish reason the answer was cut, even if the connection closed in good order.
        if stop is not None:
            yield Finished(
                stop=stop,
                prompt_tokens=usage.prompt_tokens if usage else None,
                completion_tokens=usage.completion_tokens if usage else None,
                model=redact(model[:200]),
                refusal=refusal,
            )

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages: list[ChatCompletionMessageParam] = []
        for message in request.messages:
            if message.role == MESSAGE_ROLE_SYSTEM:
                messages.append({"role": "system", "content": message.text})
            elif message.role == MESSAGE_ROLE_ASSISTANT:
                messages.append({"role": "assistant", "content": message.text})
            else:
                messages.append({"role": "user", "content": message.text})
        body: dict[str, Any] = {
            "model": request.model or self.default_model,
            "messages": messages,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "stream": True,
        }
        if self._preset.sends_usage:
            body["stream_options"] = {"include_usage": True}
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None and self._preset.takes_seed:
            body["seed"] = request.seed
        return body

    async def health(self) -> Mapping[str, Any]:
        """List the models; raises Unavailable(PROVIDER_FAILED) when that fails."""
        self.require()
        try:
            page = await self._client.models.list(timeout=5.0)
        except openai.APIStatusError as error:
            raise Unavailable(f"{self.id} answered {error.status_code}.", reason="PROVIDER_FAILED") from error
        except openai.APIError as error:
            raise Unavailable(f"{self.id} does not answer.", reason="PROVIDER_FAILED") from error
        names = [item.id for item in page.data or []]
        return {"model": self.default_model, "models": names[:50], "model_count": len(names)}

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _status_failure(error: openai.APIStatusError, provider: str) -> Exception:
    status = error.status_code
    if status in {408, 409, 425, 429} or status >= 500:
        return RetryableFailure(f"HTTP {status}: {_words(error)}", retry_after(error.response.headers), status)
    return Unavailable(
        f"The model {provider} refused the request (HTTP {status}): {_words(error)}",
        reason="PROVIDER_FAILED",
        metadata={"provider": provider, "stage": "generation", "status": str(status)},
    )


def _words(error: openai.APIError) -> str:
    """Return the provider's own words, on one line and not endless; they may quote a key, which is cut out."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    # Cleaned before it is cut: the half of a key is not found any more.
    return redact(" ".join(str(message or error.message)[:_READ].split()))[:200]

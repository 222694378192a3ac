"""The one client of OpenAI-compatible services: embeddings, chat and the list of models, failures typed and cleaned.

What may pass raises RetryableFailure, with the pause that was asked for; what the service refuses raises Unavailable.
Trying again is the caller's: each knows what else calls the same endpoint, and how much of an answer is out already.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import httpx2
from footnote_kit.backoff import retry_after
from footnote_kit.errors import Unavailable
from footnote_kit.redact import redact

from footnote_providers.dialects import Dialect, dialect_of, taught
from footnote_providers.endpoints import Endpoint
from footnote_providers.failures import RetryableFailure

if TYPE_CHECKING:
    import openai
    from openai.types.shared_params import ResponseFormatJSONSchema

_PASSING = frozenset({408, 409, 425, 429})
_NO_SCHEMA = frozenset({400, 404, 415, 422, 501})
_REFUSALS = 10  # of one question, each teaching something
_MODELS = 256  # whose dialects are remembered
_ROLES = frozenset({"system", "assistant", "user"})
_THOUGHTS = ("reasoning_content", "reasoning")
_TURN = 0.005  # seconds
_READ = 10_000  # characters of an error that are looked at
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """An answer to write: messages as (role, text), role one of "system", "user", "assistant".

    `max_tokens` bounds the words, `prompt_tokens` are those of the messages by the caller's count; `schema` is the JSON
    Schema that the answer should keep to. What a model does not take is left out, see `left_out`.
    """

    model: str
    messages: Sequence[tuple[str, str]]
    temperature: float
    max_tokens: int
    stop: Sequence[str] = ()
    seed: int | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    prompt_tokens: int = 0
    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ChatPart:
    """What one event of a streamed answer says; empty or None where it does not say it."""

    text: str = ""
    thought: str = ""
    refusal: str = ""
    stop: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class OpenAIClient:
    """One endpoint; connections are shared by all calls. `name` and `metadata` are for the errors that it raises.

    `timeout` is the seconds for a whole answer, None for no limit; `connect_timeout` those to connect, by itself the
    same.
    """

    def __init__(
        self, endpoint: Endpoint, name: str, *, timeout: float | None, connect_timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.base_url = endpoint.base_url
        self._name = name
        self._metadata = {"provider": endpoint.service.id, **(metadata or {})}
        self._timeout = timeout
        self._settings = endpoint.settings
        self._window = endpoint.settings.window or endpoint.service.window
        self._dialects: dict[str, Dialect] = {}
        """What refusals have taught, by model."""
        self._endpoint = endpoint
        self._connect = connect_timeout or timeout
        # The library takes a third of a second to load and most deployments have no use for it: it is loaded with the
        # client of an endpoint that somebody has set, and otherwise at the first call, beside the event loop.
        self._opening = asyncio.Lock()
        self._opened = self._open() if endpoint.is_set else None

    def _open(self) -> openai.AsyncOpenAI:
        import openai

        from footnote_providers.outbound import http_client

        return openai.AsyncOpenAI(
            api_key=self._endpoint.api_key or "none",
            base_url=self.base_url,
            timeout=httpx2.Timeout(self._timeout, connect=self._connect, pool=self._connect),
            http_client=http_client(self.base_url),
            max_retries=0,  # attempts are counted, and pauses shared, by those who call
        )

    async def _library(self) -> openai.AsyncOpenAI:
        if self._opened is None:
            async with self._opening:
                if self._opened is None:
                    self._opened = await asyncio.to_thread(self._open)
        return self._opened

    async def embed(self, texts: Sequence[str], model: str, dimensions: int = 0) -> list[Sequence[float]]:
        """Return a vector a text, in their order; `dimensions` are asked for, 0 for the model's own."""
        library = await self._library()
        from openai import omit

        with self._typed():
            response = await library.embeddings.create(input=list(texts), model=model, dimensions=dimensions or omit)
            rows = {item.index: item.embedding for item in response.data or ()}
            if sorted(rows) != list(range(len(texts))):
                raise RetryableFailure(f"{len(rows)} vectors came back for {len(texts)} texts")
            return [rows[index] for index in range(len(texts))]

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatPart, None]:
        """Stream an answer; closing the generator closes the HTTP connection."""
        await self._library()
        with self._typed():
            response = await self._begin(request)
            turn = monotonic()
            try:
                async for chunk in response:
                    for part in _parts(chunk):
                        yield part
                    # What has arrived in one piece is read without a pause: let others have their turn in between.
                    if monotonic() - turn > _TURN:
                        await asyncio.sleep(0)
                        turn = monotonic()
            finally:
                await response.close()

    def dialect(self, model: str) -> Dialect:
        """Return how a model is asked, as far as it is known by now."""
        return self._dialects.get(model) or dialect_of(model, self._window)

    async def _begin(self, request: ChatRequest) -> openai.AsyncStream[object]:
        """Begin an answer; what a refusal teaches is remembered for the model once it is seen to help."""
        import openai

        known = dialect = self.dialect(request.model)
        for _ in range(_REFUSALS):
            sent = self._parameters(request, dialect)
            try:
                stream = await self._create(request, sent)
            except openai.APIStatusError as error:
                learned = self._learned(request, dialect, sent, error)
                if learned is None:
                    raise
                dialect = learned
            else:
                self._remember(request.model, known, dialect)
                return stream
        raise self.refused("it refused every way of asking that it left open")

    def _learned(
        self, request: ChatRequest, dialect: Dialect, sent: Mapping[str, object], error: openai.APIStatusError
    ) -> Dialect | None:
        message = f"{error.message} {error.body}"[:_READ]
        learned = None
        if error.status_code in (400, 422):
            learned = taught(dialect, sent, request.prompt_tokens, error.param or "", message)
        if learned is None and "response_format" in sent and error.status_code in _NO_SCHEMA:
            learned = replace(dialect, without=dialect.without | {"response_format"})
        return learned

    def _remember(self, model: str, known: Dialect, learned: Dialect) -> None:
        if learned is known:
            return
        if len(self._dialects) >= _MODELS:
            self._dialects.clear()  # names of models may be the callers'
        self._dialects[model] = learned

    def _parameters(self, request: ChatRequest, dialect: Dialect) -> dict[str, object]:
        """Return what is asked for beside model and messages, by the names that the service gives it."""
        bound = dialect.bound(request.max_tokens, request.prompt_tokens, self._settings.thinking_tokens)
        wanted: dict[str, object] = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "frequency_penalty": request.frequency_penalty,
            "presence_penalty": request.presence_penalty,
            "stop": list(request.stop) or None,
            "seed": request.seed,
            "stream_options": {"include_usage": True},
            "reasoning_effort": self._settings.reasoning_effort or dialect.effort or None,
            "response_format": None if request.schema is None else _form(request.schema),
        }
        sent = {name: value for name, value in wanted.items() if value is not None and dialect.takes(name)}
        if dialect.limit:
            sent[dialect.limit] = bound
        for name, value in self._settings.extra.items():
            sent.pop(name, None)
            if value is not None:
                sent[name] = value
        return sent

    async def _create(self, request: ChatRequest, sent: Mapping[str, object]) -> openai.AsyncStream[object]:
        from openai import AsyncStream

        # The parameters go as they are: which of them there may be is the service's word, not the library's. The events
        # come as they are too: making objects of them, and telling their types, is most of what one costs.
        library = await self._library()
        asked = {"model": request.model, "messages": [_message(*one) for one in request.messages], "stream": True}
        return await library.post(
            "/chat/completions", cast_to=object, body={**asked, **sent}, stream=True, stream_cls=AsyncStream[object]
        )

    async def models(self, timeout: float) -> list[str]:
        """Return the names of the models that are served."""
        library = await self._library()
        with self._typed():
            page = await library.models.list(timeout=timeout)
            return [item.id for item in page.data or []]

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()

    def refused(self, problem: str, status: int = 0) -> Unavailable:
        """Return the error for what trying again does not mend."""
        metadata = self._metadata | ({"status": str(status)} if status else {})
        return Unavailable(f"{self._name} refused: {problem}", reason="PROVIDER_FAILED", metadata=metadata)

    @contextmanager
    def _typed(self) -> Iterator[None]:
        """Raise what the library raises as failures of ours."""
        import openai

        try:
            yield
        except openai.APITimeoutError as error:
            connecting = isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout)
            limit = "" if connecting or self._timeout is None else f" within {self._timeout:g} s"
            raise RetryableFailure(f"no {'connection' if connecting else 'answer'}{limit}") from error
        except openai.APIConnectionError as error:
            raise RetryableFailure(f"no connection ({type(error.__cause__ or error).__name__})") from error
        except openai.APIStatusError as error:
            problem = f"HTTP {error.status_code}: {_words(error)}"
            if error.status_code in _PASSING or error.status_code >= 500:
                raise RetryableFailure(problem, retry_after(error.response.headers), error.status_code) from error
            raise self.refused(problem, error.status_code) from error
        except openai.APIError as error:
            # An error object inside a stream, or a body that is not what was asked for.
            raise RetryableFailure(_words(error)) from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise RetryableFailure(f"the connection broke ({type(error).__name__})") from error
        except (ValueError, AttributeError, TypeError) as error:
            # Not JSON, or not what was asked for: a proxy's page makes the library stumble over a missing attribute.
            raise RetryableFailure(f"unreadable answer: {type(error).__name__}") from error


def _parts(chunk: Any) -> Iterator[ChatPart]:
    """Yield what an event says; one of another form raises what `OpenAIClient` takes for an unreadable answer."""
    model = chunk.get("model") or ""
    usage = chunk.get("usage")
    if usage is not None:
        yield ChatPart(
            model=model, prompt_tokens=usage.get("prompt_tokens"), completion_tokens=usage.get("completion_tokens")
        )
    for choice in chunk.get("choices"):
        delta = choice.get("delta") or {}
        yield ChatPart(
            text=delta.get("content") or "",
            thought=_thought(delta),
            refusal=delta.get("refusal") or "",
            stop=choice.get("finish_reason") or "",
            model=model,
        )


def _thought(delta: Mapping[str, object]) -> str:
    """Return what a model thinks, which services give beside the words under one name or another."""
    return next((value for name in _THOUGHTS if isinstance(value := delta.get(name), str)), "")


def _form(schema: Mapping[str, object]) -> ResponseFormatJSONSchema:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


def _message(role: str, text: str) -> dict[str, str]:
    return {"role": role if role in _ROLES else "user", "content": text}


def _words(error: openai.APIError) -> str:
    """Return the service's own words, on one line and not endless; they may quote a key, which is cut out."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    # Cleaned before it is cut: the half of a key is not found any more.
    return redact(" ".join(str(message or error.message)[:_READ].split()))[:_SHOWN]

"""The one client of OpenAI-compatible services: embeddings, chat and list of models, with typed, redacted errors.

A transient failure raises RetryableFailure with the requested delay; a refusal raises Unavailable. Retries are left
to the caller, which knows the other calls to the endpoint, and how much of an answer it has passed on.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any

import httpx2
from footnote_kit.backoff import retry_after
from footnote_kit.context import request_id
from footnote_kit.errors import Unavailable
from footnote_kit.redact import redact
from footnote_kit.telemetry import provider_traceparent
from footnote_kit.text_work import off_loop

from footnote_providers.dialects import Dialect, dialect_of, taught
from footnote_providers.egress.egress import Egress
from footnote_providers.egress.policy import stays_here
from footnote_providers.endpoints import Endpoint
from footnote_providers.quotes import before_quote
from footnote_providers.resilience import RetryableFailure

if TYPE_CHECKING:
    import openai
    from openai.types.shared_params import ResponseFormatJSONSchema

_PASSING = frozenset({408, 409, 425, 429})
_NO_SCHEMA = frozenset({400, 404, 415, 422, 501})
_REFUSALS = 10  # refusals of one question, each of which teaches something
_MODELS = 256  # models whose dialects are kept
_ROLES = frozenset({"system", "assistant", "user"})
_THOUGHTS = ("reasoning_content", "reasoning")
_TURN = 0.005  # seconds
_READ = 10_000  # characters of an error that are examined
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """An answer to request: messages as (role, text), with the role "system", "user" or "assistant".

    `max_tokens` bounds the answer; `prompt_tokens` is the size of the messages by the caller's count. `schema` is the
    JSON Schema for the answer. Parameters that a model does not accept are omitted, see `Dialect.without`.
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
    """The content of one event of a streamed answer; absent parts are empty or None."""

    text: str = ""
    thought: str = ""
    refusal: str = ""
    stop: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class OpenAIClient:
    """One endpoint, with connections shared by all calls; `name` and `metadata` appear in its errors.

    `timeout` is the limit in seconds for a whole answer, None for no limit. `connect_timeout` is the limit for
    connecting, by default the same.
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
        """Dialects learnt from refusals, by model."""
        self._endpoint = endpoint
        self._connect = connect_timeout or timeout
        # The library takes a third of a second to import, and most deployments do not need it. It is imported with
        # the client of a configured endpoint, otherwise at the first call, off the event loop.
        self._opening = asyncio.Lock()
        self._opened = self._open() if endpoint.is_set else None

    def _open(self) -> openai.AsyncOpenAI:
        import openai

        return openai.AsyncOpenAI(
            api_key=self._endpoint.api_key or "none",
            base_url=self.base_url,
            timeout=httpx2.Timeout(self._timeout, connect=self._connect, pool=self._connect),
            http_client=http_client(self.base_url),
            max_retries=0,  # callers count retries and share pauses
        )

    async def _library(self) -> openai.AsyncOpenAI:
        if self._opened is None:
            async with self._opening:
                if self._opened is None:
                    self._opened = await asyncio.to_thread(self._open)
        return self._opened

    async def embed(self, texts: Sequence[str], model: str, dimensions: int = 0) -> list[Sequence[float]]:
        """Return one vector per text, in order; `dimensions` is the requested length, 0 for the model's own."""
        library = await self._library()
        from openai import omit

        async with self._typed(texts):
            response = await library.embeddings.create(input=list(texts), model=model, dimensions=dimensions or omit)
            # Gemini leaves an index of 0 out, others leave all out: what has none stands at its own place.
            rows: dict[int, Sequence[float]] = {}
            for place, item in enumerate(response.data or ()):
                rows[place if item.index is None else item.index] = item.embedding
            if len(response.data or ()) != len(texts) or sorted(rows) != list(range(len(texts))):
                raise RetryableFailure(f"{len(rows)} vectors came back for {len(texts)} texts")
            return [rows[index] for index in range(len(texts))]

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatPart, None]:
        """Stream an answer; closing the generator closes the HTTP connection."""
        await self._library()
        async with self._typed([text for _, text in request.messages]):
            response = await self._begin(request)
            turn = monotonic()
            try:
                async for chunk in response:
                    for part in _parts(chunk):
                        yield part
                    # Data that arrived in one piece is read without waiting, so give other tasks a turn in between.
                    if monotonic() - turn > _TURN:
                        await asyncio.sleep(0)
                        turn = monotonic()
            finally:
                await response.close()

    def dialect(self, model: str) -> Dialect:
        """Return the current dialect of a model."""
        return self._dialects.get(model) or dialect_of(model, self._window)

    async def _begin(self, request: ChatRequest) -> openai.AsyncStream[object]:
        """Start an answer; a dialect learnt from refusals is kept for the model once it succeeds."""
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
            self._dialects.clear()  # callers may choose model names
        self._dialects[model] = learned

    def _parameters(self, request: ChatRequest, dialect: Dialect) -> dict[str, object]:
        """Return the request parameters besides model and messages, by the service's names."""
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

        # The parameters bypass the library's types, because the service decides which exist. Events bypass them too:
        # creating and typing objects is most of an event's cost.
        library = await self._library()
        asked = {"model": request.model, "messages": [_message(*one) for one in request.messages], "stream": True}
        return await library.post(
            "/chat/completions", cast_to=object, body={**asked, **sent}, stream=True, stream_cls=AsyncStream[object]
        )

    async def models(self, timeout: float) -> list[str]:
        """Return the names of the available models."""
        library = await self._library()
        async with self._typed():
            page = await library.models.list(timeout=timeout, extra_headers=self._own_headers())
            return [item.id for item in page.data or []]

    def _own_headers(self) -> dict[str, str | openai.Omit]:
        """Return what Anthropic's list of models wants: only its chat takes OpenAI's form, with a bearer token."""
        from openai import Omit

        if self._endpoint.service.id != "anthropic":
            return {}
        return {"x-api-key": self._endpoint.api_key, "anthropic-version": "2023-06-01", "Authorization": Omit()}

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()

    def refused(self, problem: str, status: int = 0) -> Unavailable:
        """Return the error for a failure that a retry cannot fix."""
        metadata = self._metadata | ({"status": str(status)} if status else {})
        return Unavailable(f"{self._name} refused: {problem}", reason="PROVIDER_FAILED", metadata=metadata)

    @asynccontextmanager
    async def _typed(self, texts: Sequence[str] = ()) -> AsyncIterator[None]:
        """Translate the library's exceptions into typed failures, which quote none of the texts sent."""
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
            problem = f"HTTP {error.status_code}: {await _words(error, texts)}"
            if error.status_code in _PASSING or error.status_code >= 500:
                raise RetryableFailure(problem, retry_after(error.response.headers), error.status_code) from error
            raise self.refused(problem, error.status_code) from error
        except openai.APIError as error:
            # An error object inside a stream, or a body of unexpected form.
            raise RetryableFailure(await _words(error, texts), for_others="an error in its answer") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise RetryableFailure(f"the connection broke ({type(error).__name__})") from error
        except (ValueError, AttributeError, TypeError) as error:
            # Not JSON, or of unexpected form: a proxy's page makes the library fail on a missing attribute.
            raise RetryableFailure(f"unreadable answer: {type(error).__name__}") from error


def _parts(chunk: Any) -> Iterator[ChatPart]:
    """Yield the parts of an event; an unexpected form raises an error that `OpenAIClient` reports as unreadable."""
    model = _text(chunk.get("model"))
    usage = chunk.get("usage")
    if usage is not None:
        yield ChatPart(
            model=model,
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
        )
    choices = chunk.get("choices")
    for choice in () if choices is None and usage is not None else choices:
        delta = choice.get("delta") or {}
        content = delta.get("content")
        yield ChatPart(
            text="".join(_text_parts(content)) if isinstance(content, list) else _text(content),
            thought=_thought(delta),
            refusal=_text(delta.get("refusal")),
            stop=_text(choice.get("finish_reason")),
            model=model,
        )


def _text(value: object) -> str:
    """Return a text, "" for none, as which services also send false, 0 or {}; raises ValueError for anything else."""
    if not value:
        return ""
    if isinstance(value, str):
        return value
    raise ValueError(f"{type(value).__name__} in the place of a text")


def _text_parts(content: Sequence[object]) -> Iterator[str]:
    """Yield the words of an answer in parts: services put a model's thoughts into parts of another type."""
    for part in content:
        if isinstance(part, dict) and part.get("type") == "text":
            yield _text(part.get("text"))


def _count(value: object) -> int | None:
    """Return a number of tokens, None for what is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2**31:
        return None
    return int(value) if value == int(value) else None


def _thought(delta: Mapping[str, object]) -> str:
    """Return a model's thoughts, which services send beside the text under one of several names."""
    return next((value for name in _THOUGHTS if isinstance(value := delta.get(name), str)), "")


def _form(schema: Mapping[str, object]) -> ResponseFormatJSONSchema:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


def _message(role: str, text: str) -> dict[str, str]:
    return {"role": role if role in _ROLES else "user", "content": text}


async def _words(error: openai.APIError, texts: Sequence[str]) -> str:
    """Return the service's message on one line, shortened, without keys and up to where it quotes one of the texts."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    # Redact before cutting, because half a key is no longer recognised.
    said = redact(" ".join(str(message or error.message)[:_READ].split()))[: 2 * _SHOWN]
    return (await off_loop(sum(map(len, texts)), before_quote, said, texts))[:_SHOWN]


REQUEST_ID = "X-Client-Request-Id"
"""The header that carries the request id to the provider's log; OpenAI defines the name."""


async def _marked(request: httpx2.Request) -> None:
    """Add the id of the call being served to a request, and its trace where the deployment sends that."""
    if known := request_id():
        request.headers[REQUEST_ID] = known
    if traced := provider_traceparent():
        request.headers["traceparent"] = traced


def http_client(base_url: str) -> openai.DefaultAsyncHttpxClient:
    """Return a client for one endpoint.

    It follows no redirects: they would send texts, and perhaps a key, to an address that is not configured. Each
    request carries the id of the call being served.
    """
    import openai

    verify, proxied = transport(base_url)
    return openai.DefaultAsyncHttpxClient(
        verify=verify, follow_redirects=False, trust_env=proxied, event_hooks={"request": [_marked]}
    )


def transport(url: str) -> tuple[ssl.SSLContext, bool]:
    """Return the authorities that a client of an address trusts, and whether it may use the environment's web proxy.

    What the operator's policy counts as this machine is reached without one: a proxy would carry its texts away.
    """
    return _trusted(not stays_here(url)), not Egress.load().stays_here(url)


@cache
def _trusted(env: bool) -> ssl.SSLContext:
    """Return the authorities that a client trusts, read once: each time would hold the event loop for 20 ms."""
    return httpx2.create_ssl_context(trust_env=env)

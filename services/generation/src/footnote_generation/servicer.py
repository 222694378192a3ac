"""Converts between the messages of GenerationService and the logic."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceServicer
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import (
    MESSAGE_ROLE_ASSISTANT,
    MESSAGE_ROLE_SYSTEM,
    PIPELINE_STAGE_GENERATION,
    Answer,
    Citation,
    ClaimsRevised,
    Degradation,
    FinishReason,
    Source,
    Verdict,
)
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL
from footnote_kit import epochs, names, registration, telemetry
from footnote_kit.collection_settings import resolve
from footnote_kit.context import Call, time_remaining
from footnote_kit.degradations import degradation
from footnote_kit.epochs import Epochs
from footnote_kit.errors import InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.timings import duration
from footnote_providers.egress import limits
from footnote_providers.egress.egress import bounds_of
from google.protobuf import json_format
from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue

from footnote_generation.answering import table_queries, verify
from footnote_generation.answering.generate import Completed, Delta, Generator, Spent
from footnote_generation.answering.permitted import Permitted
from footnote_generation.answering.retries import RetryPolicy
from footnote_generation.answering.rewriting import rewrite
from footnote_generation.answering.side_calls import SideCalls, make_title
from footnote_generation.answering.verifiers import Verifiers
from footnote_generation.ports import ModelProvider, ModelRequest, ReadsTables, Verifier
from footnote_generation.registry import ContextWindows, Providers
from footnote_generation.settings import Settings

_log = get_logger(__name__)
_MAX_SOURCES = 200
_HEALTH_SECONDS = 10.0
_REWRITE_SECONDS = 8.0
_QUERY_SECONDS = 15.0


class Servicer(GenerationServiceServicer):
    """GenerationService over the functions of this package."""

    def __init__(
        self,
        settings: Settings,
        providers: Providers,
        verifier: Verifier | None,
        windows: ContextWindows,
        deployment: GenerationSettings | None = None,
    ) -> None:
        self._providers = providers
        self._windows = windows
        self._deployment = GenerationSettings()
        if deployment is not None:
            self._deployment.CopyFrom(deployment)
        self._deployment.provider = providers.default
        self._retry_policy = RetryPolicy(
            first_token=settings.first_token_timeout,
            between_tokens=settings.token_timeout,
            attempts=settings.attempts,
        )
        self._permitted = Permitted(providers, settings)
        self._verifiers = Verifiers(settings, providers, self._permitted, verifier)
        self._prices = settings.prices
        self._generator = Generator(self._retry_policy, settings.prices)

    async def Generate(self, request: pb.GenerateRequest, context: Call) -> AsyncIterator[pb.GenerateResponse]:
        """Stream an answer; a cancelled call closes the generator, and with it the model's connection."""
        settings = resolve(self._deployment, request.settings)
        provider, model = self._check(request, settings)
        bounds = bounds_of(request.HasField("bounds"), request.bounds)
        self._permitted.check(request.scope, provider, model, bounds)
        settings.max_tokens = self._permitted.longest_answer(request.scope, settings, bounds)
        wanted = _model_request(request, settings, model)
        attributes: dict[str, AttributeValue] = {
            names.GEN_AI_OPERATION: "chat",
            names.GEN_AI_PROVIDER: provider.id,
            names.GEN_AI_REQUEST_MODEL: model or provider.default_model,
            names.SOURCES: len(request.sources),
        }
        with telemetry.span(f"chat {model or provider.default_model}", attributes, SpanKind.CLIENT) as span:
            telemetry.record_content(names.GEN_AI_INPUT_MESSAGES, _messages(wanted))
            with self._windows.asking(provider, model):
                async with (
                    self._providers.with_settings(provider, settings.settings) as made,
                    aclosing(
                        self._generator.run(
                            made, wanted, settings.strict, time_remaining(),
                            self._verifiers.choose(settings, made, model, request.scope, bounds),
                        )
                    ) as events,
                ):  # fmt: skip
                    async for event in events:
                        if isinstance(event, Delta):
                            yield pb.GenerateResponse(text_delta=event.text)
                        elif isinstance(event, Citation):
                            yield pb.GenerateResponse(citation=event)
                        elif isinstance(event, ClaimsRevised):
                            yield pb.GenerateResponse(claims_revised=event)
                        elif isinstance(event, Spent):
                            yield pb.GenerateResponse(usage=event.usage)
                        else:
                            self._report(event, model or provider.default_model, span)
                            said = _message("assistant", event.answer.text)
                            telemetry.record_content(names.GEN_AI_OUTPUT_MESSAGES, said)
                            yield pb.GenerateResponse(completed=_completed(event, settings))

    async def ResolveSettings(self, request: pb.ResolveSettingsRequest, context: Call) -> pb.ResolveSettingsResponse:
        """Fill in settings; refuse what Generate would refuse."""
        settings = resolve(self._deployment, request.generation)
        provider, model = self._check_settings(settings)
        bounds = bounds_of(request.HasField("bounds"), request.bounds)
        self._permitted.check(request.scope, provider, model, bounds)
        settings.max_tokens = self._permitted.longest_answer(request.scope, settings, bounds)
        window, room, epoch = self._windows.of(provider, model)
        epochs.send(context, Epochs(epoch))
        return pb.ResolveSettingsResponse(
            generation=settings,
            context_window=window,
            answer_tokens=settings.max_tokens + room,
            without_model=provider.id == "builtin",
            reads_tables=isinstance(provider, ReadsTables) and provider.reads_tables,
        )

    async def VerifyStatements(self, request: pb.VerifyStatementsRequest, context: Call) -> pb.VerifyStatementsResponse:
        """Judge statements like the sentences of an answer."""
        _check_numbers(request.sources)
        verify.check(request.statements, request.answer, request.sources)
        settings = resolve(self._deployment, request.settings)
        provider, model = self._check_settings(settings)
        bounds = bounds_of(request.HasField("bounds"), request.bounds)
        locale = request.locale or "en"
        async with self._providers.with_settings(provider, settings.settings) as made:
            chosen = self._verifiers.choose(settings, made, model, request.scope, bounds)
            found = await verify.verify(
                request.statements, request.answer, request.sources, locale, chosen, time_remaining()
            )
        response = pb.VerifyStatementsResponse(
            claims=found.claims, citations=found.citations, usage=found.usage, text=found.text
        )
        if found.failure:
            response.degradations.append(_by_rules_alone(found.failure))
        return response

    async def GenerateTitle(self, request: pb.GenerateTitleRequest, context: Call) -> pb.GenerateTitleResponse:
        """Make a title."""
        if not request.first_message.strip():
            raise InvalidArgument.field("first_message", "must not be empty")
        settings = resolve(self._deployment, request.settings)
        provider = self._providers.get(settings.provider)
        model = settings.model
        bounds = bounds_of(request.HasField("bounds"), request.bounds)
        self._permitted.check(request.scope, provider, model, bounds)
        calls = self._side_calls(5.0)
        with self._windows.asking(provider, model):
            title, usage = await make_title(provider, request.first_message, model, calls)
        return pb.GenerateTitleResponse(title=title, usage=usage)

    async def RewriteQuestion(self, request: pb.RewriteQuestionRequest, context: Call) -> pb.RewriteQuestionResponse:
        """Rewrite a follow-up so that it is complete."""
        if not request.question.strip():
            raise InvalidArgument.field("question", "must not be empty")
        settings = resolve(self._deployment, request.settings)
        provider, model = self._check_settings(settings)
        bounds = bounds_of(request.HasField("bounds"), request.bounds)
        self._permitted.check(request.scope, provider, model, bounds)
        calls = self._side_calls(_REWRITE_SECONDS)
        with self._windows.asking(provider, model):
            async with self._providers.with_settings(provider, settings.settings) as made:
                question, usage = await rewrite(made, request.question, request.history, model, calls)
        return pb.RewriteQuestionResponse(question=question, usage=usage)

    async def WriteTableQuery(self, request: pb.WriteTableQueryRequest, context: Call) -> pb.WriteTableQueryResponse:
        """Have the model write the SELECT that answers a question from tables."""
        if not request.question.strip():
            raise InvalidArgument.field("question", "must not be empty")
        if not 1 <= len(request.tables) <= table_queries.MOST_TABLES:
            raise InvalidArgument.field("tables", f"must be 1 to {table_queries.MOST_TABLES}")
        settings = resolve(self._deployment, request.settings)
        provider, model = self._check_settings(settings)
        bounds = bounds_of(request.HasField("bounds"), request.bounds)
        self._permitted.check(request.scope, provider, model, bounds)
        calls = self._side_calls(_QUERY_SECONDS)
        with self._windows.asking(provider, model):
            async with self._providers.with_settings(provider, settings.settings) as made:
                query, usage = await table_queries.write(
                    made, request.question, request.tables, model, calls, request.query, request.problem
                )
        reading = None
        if isinstance(provider, ReadsTables) and not request.query:
            reading = await provider.read_tables(request.question, request.tables)
        return pb.WriteTableQueryResponse(
            reading=reading, query=query, model=(model or provider.default_model) if query else "", usage=usage
        )

    async def ListProviders(self, request: pb.ListProvidersRequest, context: Call) -> pb.ListProvidersResponse:
        """List the model providers."""
        return pb.ListProvidersResponse(providers=self._providers.descriptions())

    async def ValidateProvider(self, request: pb.ValidateProviderRequest, context: Call) -> pb.ValidateProviderResponse:
        """Check settings without calling anything."""
        problems = self._providers.problems(request.id, json_format.MessageToDict(request.settings))
        return pb.ValidateProviderResponse(valid=not problems, problems=problems)

    async def CheckProvider(self, request: pb.CheckProviderRequest, context: Call) -> pb.CheckProviderResponse:
        """Call a provider and report its health."""
        provider = self._providers.get(request.id)
        problems = self._providers.problems(provider.id, json_format.MessageToDict(request.settings))
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        self._providers.egress.check(self._providers.use(provider, ""), request.scope, TextBounds())

        async def ask() -> Mapping[str, Any]:
            async with self._providers.with_settings(provider, request.settings) as made:
                return await made.health()

        return pb.CheckProviderResponse(
            health=await registration.health(PROVIDER_KIND_MODEL, request.id, ask, _HEALTH_SECONDS)
        )

    def _side_calls(self, seconds: float) -> SideCalls:
        """Return calls of one attempt, with at most `seconds` to the first token and between tokens."""
        return SideCalls(RetryPolicy(first_token=seconds, between_tokens=seconds, attempts=1), self._prices)

    def _check(self, request: pb.GenerateRequest, settings: GenerationSettings) -> tuple[ModelProvider, str]:
        """Refuse requests that cannot be answered; return the provider and the model's name, "" for its default."""
        if not request.question.strip():
            raise InvalidArgument.field("question", "must not be empty")
        _check_numbers(request.sources)
        provider, model = self._check_settings(settings)
        if provider.id != "builtin" and not request.prompt.messages:
            raise InvalidArgument.field("prompt.messages", "must not be empty")
        return provider, model

    def _check_settings(self, settings: GenerationSettings) -> tuple[ModelProvider, str]:
        """Refuse settings that cannot work; return the provider and the model's name."""
        limits.check_generation(settings, self._providers.egress.deployment_limits, "settings")
        provider = self._providers.get(settings.provider)
        problems = self._providers.problems(provider.id, json_format.MessageToDict(settings.settings))
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        provider.require()
        return provider, settings.model

    def _report(self, completed: Completed, asked: str, span: Span) -> None:
        """Record an answer's figures in its span, the metrics and the log; never its text."""
        answer = completed.answer
        reason = FinishReason.Name(answer.finish_reason).removeprefix("FINISH_REASON_")
        span.set_attribute(names.GEN_AI_RESPONSE_MODEL, answer.model)
        span.set_attribute(names.GEN_AI_INPUT_TOKENS, answer.usage.prompt_tokens)
        span.set_attribute(names.GEN_AI_OUTPUT_TOKENS, answer.usage.completion_tokens)
        span.set_attribute(names.GEN_AI_FINISH_REASONS, [reason])
        span.set_attribute(names.CITATIONS, len(answer.citations))
        tokens = telemetry.counter("footnote.generation.tokens")
        # Label by the requested model: a server may return any name, and labels are kept for ever.
        label = {names.GEN_AI_REQUEST_MODEL: asked}
        tokens.add(answer.usage.prompt_tokens, {"direction": "input", **label})
        tokens.add(answer.usage.completion_tokens, {"direction": "output", **label})
        if completed.first_token is not None:
            telemetry.histogram("footnote.generation.time_to_first_token").record(completed.first_token)
        self._count_citations(answer)
        if answer.reliability.invalid_citations:
            _log.warning("citations_of_unknown_sources", count=answer.reliability.invalid_citations, model=answer.model)
        _log.info(
            "answer_generated",
            finish_reason=reason,
            provider=answer.provider,
            model=answer.model,
            citations=len(answer.citations),
            claims=answer.reliability.claims,
            claims_supported=round(answer.reliability.claims_supported, 3),
            prompt_tokens=answer.usage.prompt_tokens,
            completion_tokens=answer.usage.completion_tokens,
        )

    def _count_citations(self, answer: Answer) -> None:
        counter = telemetry.counter("footnote.generation.citations")
        for support, count in Counter(citation.support for citation in answer.citations).items():
            counter.add(count, {"verdict": Verdict.Name(support).removeprefix("VERDICT_").lower()})
        if answer.reliability.invalid_citations:
            counter.add(answer.reliability.invalid_citations, {"verdict": "unknown_source"})


def _model_request(request: pb.GenerateRequest, settings: GenerationSettings, model: str) -> ModelRequest:
    return ModelRequest(
        messages=list(request.prompt.messages),
        question=request.question,
        sources=() if request.without_sources else list(request.sources),
        locale=request.locale or request.prompt.locale or "en",
        model=model,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        stop=list(settings.stop.values),
        seed=settings.seed if settings.HasField("seed") else None,
        top_p=settings.top_p if settings.HasField("top_p") else None,
        frequency_penalty=settings.frequency_penalty if settings.HasField("frequency_penalty") else None,
        presence_penalty=settings.presence_penalty if settings.HasField("presence_penalty") else None,
        without_sources=request.without_sources,
        documents_unavailable=request.documents_unavailable,
        own_instructions=list(request.own_instructions),
    )


def _completed(event: Completed, settings: GenerationSettings) -> pb.GenerateCompleted:
    completed = pb.GenerateCompleted(answer=event.answer, settings=settings, withheld_text=event.withheld)
    if event.first_token is not None:
        completed.time_to_first_token.CopyFrom(duration(event.first_token))
    completed.degradations.extend(event.degradations)
    if event.verifier_failure:
        completed.degradations.append(_by_rules_alone(event.verifier_failure))
    return completed


def _by_rules_alone(why: str) -> Degradation:
    what = "Statements that are no quotations were not read against the sources."
    return degradation(PIPELINE_STAGE_GENERATION, "VERIFIER_UNAVAILABLE", what, why)


def _check_numbers(sources: Sequence[Source]) -> None:
    if len(sources) > _MAX_SOURCES:
        raise InvalidArgument.field("sources", f"must be at most {_MAX_SOURCES}")
    numbers = [source.number for source in sources]
    if len(set(numbers)) != len(numbers) or any(number < 1 for number in numbers):
        raise InvalidArgument.field("sources", "must have numbers from 1, each once")


def _messages(request: ModelRequest) -> str:
    """Return a prompt in the semantic conventions' message format."""
    roles = {MESSAGE_ROLE_SYSTEM: "system", MESSAGE_ROLE_ASSISTANT: "assistant"}
    return f"[{', '.join(_message(roles.get(item.role, 'user'), item.text) for item in request.messages)}]"


def _message(role: str, text: str) -> str:
    return json.dumps({"role": role, "parts": [{"type": "text", "content": text}]}, ensure_ascii=False)

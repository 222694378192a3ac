"""Stages that break one promise each: the check of that promise fails, and says what came back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import grpc
import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.types.v1.answer_pb2 import TOKEN_DECISION_DROPPED, Source
from footnote.types.v1.reasons_pb2 import TOKEN_REASON_UNSPECIFIED
from footnote_conformance.stages import suite_of
from footnote_conformance.suite import Outcome, Result, run
from footnote_conformance.target import Stage, Target
from footnote_kit import credential, interceptor, server, status, trust, validation
from footnote_kit.app import App, Runtime
from footnote_kit.errors import Internal, NotFound
from footnote_kit.testing import CREDENTIAL, serve_app

pytestmark = pytest.mark.full

Patch = pytest.MonkeyPatch
Unary = Callable[[Any, Any, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]
"""(request, context, the original) -> response."""


class Mutant:
    """A servicer with one method exchanged, of the kind of the original."""

    def __init__(self, original: Any, method: str, change: Any) -> None:
        self._original = original
        setattr(self, method, change)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


@asynccontextmanager
async def served(stage: str, method: str = "", change: Any = None) -> AsyncIterator[Target]:
    """Serve one of our stages, a method of it changed: `change(original)` makes the new one."""

    async def built(runtime: Runtime) -> App:
        app: App = await import_module(f"footnote_{stage}.app").build(runtime)
        if method:
            ((add, servicer, name),) = app.servicers
            app.servicers = [(add, Mutant(servicer, method, change(getattr(servicer, method))), name)]
        return app

    async with serve_app(built) as running, grpc.aio.insecure_channel(running.address) as channel:
        await asyncio.wait_for(running.host.ready.wait(), 60)
        yield Target.of(Stage(stage, channel, CREDENTIAL), (), suite_of(stage).probe)


async def outcomes(target: Target, *names: str) -> dict[str, Result]:
    checks = [check for check in suite_of(target.stage.name) if check.name in names]
    assert len(checks) == len(names)
    return {one.check.name: one for one in await run(checks, target)}


def after(change: Callable[[Any, Any], None]) -> Any:
    """Change the response of a unary method: `change(request, response)`."""

    def of(original: Any) -> Any:
        async def method(request: Any, context: Any) -> Any:
            response = await original(request, context)
            change(request, response)
            return response

        return method

    return of


def before(change: Callable[[Any], None]) -> Any:
    """Change the request of a unary method."""

    def of(original: Any) -> Any:
        async def method(request: Any, context: Any) -> Any:
            change(request)
            return await original(request, context)

        return method

    return of


def counts_from_zero(_: Any, response: augmentation.BuildPromptResponse) -> None:
    for source in response.sources:
        source.number -= 1


def leaves_gaps(_: Any, response: augmentation.BuildPromptResponse) -> None:
    for source in response.sources:
        source.number *= 2


def ignores_the_budget(request: augmentation.BuildPromptRequest) -> None:
    request.prompt.token_budget = 30_000


def lies_about_the_budget(request: Any, response: augmentation.BuildPromptResponse) -> None:
    """It says what was asked for, and puts everything in."""
    response.token_plan.budget = request.prompt.token_budget
    response.token_plan.used = 1
    for entry in response.token_plan.entries:
        entry.tokens_used = 0
    del response.sources[:]
    response.sources.extend(
        Source(number=at, chunk_id=hit.chunk.id, text=hit.chunk.text) for at, hit in enumerate(request.chunks, 1)
    )


def drops_silently(_: Any, response: augmentation.BuildPromptResponse) -> None:
    kept = [entry for entry in response.token_plan.entries if entry.decision != TOKEN_DECISION_DROPPED]
    del response.token_plan.entries[:]
    response.token_plan.entries.extend(kept)


def gives_no_reason(_: Any, response: augmentation.BuildPromptResponse) -> None:
    for entry in response.token_plan.entries:
        entry.reason = TOKEN_REASON_UNSPECIFIED


def turns_history_round(_: Any, response: augmentation.BuildPromptResponse) -> None:
    messages = list(response.prompt.messages)
    del response.prompt.messages[:]
    response.prompt.messages.extend([messages[0], *messages[-2:0:-1], messages[-1]])


def forgets_the_instructions(_: Any, response: augmentation.BuildPromptResponse) -> None:
    del response.prompt.messages[0]


def hashes_what_is_random(_: Any, response: augmentation.BuildPromptResponse) -> None:
    import secrets

    response.prompt.hash = secrets.token_hex(32)


def hashes_nothing(_: Any, response: augmentation.BuildPromptResponse) -> None:
    response.prompt.hash = "0" * 64


def forgets_the_named(request: augmentation.BuildPromptRequest) -> None:
    del request.named_document_ids[:]


def puts_sources_in_all_the_same(request: augmentation.BuildPromptRequest) -> None:
    request.without_sources = False


def remembers_everybody(original: Any) -> Any:
    """What the last caller's candidates were is put before the next one, whoever that is."""
    seen: list[Any] = []

    async def method(request: Any, context: Any) -> Any:
        given = list(request.chunks)
        request.chunks.extend(hit for hit in seen if hit.chunk.id not in {one.chunk.id for one in given})
        seen[:] = given or seen
        return await original(request, context)

    return method


def never_plans_a_search(_: Any, response: augmentation.PlanQueryResponse) -> None:
    response.should_retrieve = False


def asks_for_nothing(original: Any) -> Any:
    async def method(request: Any, context: Any) -> Any:
        request.question = request.question.strip() or "Anything?"
        return await original(request, context)

    return method


@dataclass(frozen=True)
class Break:
    method: str
    change: Any
    check: str


AUGMENTATION = {
    "numbers sources from 0": Break("BuildPrompt", after(counts_from_zero), "sources-are-numbered-from-1-without-gaps"),
    "leaves gaps in the numbers": Break("BuildPrompt", after(leaves_gaps), "sources-are-numbered-from-1-without-gaps"),
    "ignores the budget": Break("BuildPrompt", before(ignores_the_budget), "the-budget-is-kept"),
    "lies about the budget": Break("BuildPrompt", after(lies_about_the_budget), "the-budget-is-kept"),
    "drops silently": Break("BuildPrompt", after(drops_silently), "what-is-dropped-is-named-with-a-reason"),
    "drops without a reason": Break("BuildPrompt", after(gives_no_reason), "what-is-dropped-is-named-with-a-reason"),
    "turns the history round": Break(
        "BuildPrompt", after(turns_history_round), "instructions-history-and-question-stand-in-order"
    ),
    "forgets the instructions": Break(
        "BuildPrompt", after(forgets_the_instructions), "instructions-history-and-question-stand-in-order"
    ),
    "hashes what is random": Break(
        "BuildPrompt", after(hashes_what_is_random), "the-same-request-gives-the-same-prompt"
    ),
    "has one hash for all": Break("BuildPrompt", after(hashes_nothing), "the-same-request-gives-the-same-prompt"),
    "forgets named documents": Break("BuildPrompt", before(forgets_the_named), "named-documents-keep-a-source"),
    "puts sources in all the same": Break(
        "BuildPrompt", before(puts_sources_in_all_the_same), "without-sources-there-are-none"
    ),
    "answers another tenant's": Break("BuildPrompt", remembers_everybody, "nothing-of-another-tenant-is-in-a-prompt"),
    "never searches": Break("PlanQuery", after(never_plans_a_search), "queries-are-planned"),
    "takes an empty question": Break("BuildPrompt", asks_for_nothing, "required-fields-are-asked-for"),
}


@pytest.mark.parametrize("name", AUGMENTATION)
async def test_a_broken_augmentation_fails_the_check_of_its_promise(name: str) -> None:
    broken = AUGMENTATION[name]
    async with served("augmentation", broken.method, broken.change) as target:
        result = (await outcomes(target, broken.check))[broken.check]
    assert result.outcome is Outcome.FAILED, name
    assert result.found
    assert "could not be read" not in result.found, result.found


def believes_everybody(patch: Patch) -> None:
    patch.setattr(trust.Trust, "admit", lambda self, method, metadata: None)


def asks_for_no_scope(patch: Patch) -> None:
    patch.setattr(interceptor, "believed", lambda request, proven: None)
    patch.setattr(interceptor.KitInterceptor, "_bind_scope", lambda self, request: None)


def breaks_down_at_a_bad_enum(patch: Patch) -> None:
    real = validation.check

    def check(message: Any) -> None:
        try:
            real(message)
        except Exception:
            raise Internal("KeyError: 29999") from None

    patch.setattr(validation, "check", check)


def checks_no_field(patch: Patch) -> None:
    patch.setattr(validation, "check", lambda message: None)


def says_not_why(patch: Patch) -> None:
    patch.setattr(status, "trailing_metadata", lambda error: ())


def calls_every_failure_not_found(patch: Patch) -> None:
    real = status.trailing_metadata
    patch.setattr(status, "trailing_metadata", lambda error: real(NotFound("no", reason="NONSENSE")))


def acts_for_the_message(patch: Patch) -> None:
    patch.setattr(trust, "_agree", lambda scope, proven: None)


def compares_what_it_does_not_know(patch: Patch) -> None:
    patch.setattr(trust, "_known", lambda scope: scope)


def gives_clocks_no_leeway(patch: Patch) -> None:
    patch.setattr(credential, "CLOCK_SKEW", 0)


def gives_clocks_too_much_leeway(patch: Patch) -> None:
    patch.setattr(credential, "CLOCK_SKEW", 3600)


def lets_proofs_live_long(patch: Patch) -> None:
    patch.setattr(credential, "MAX_LIFETIME", 10**6)


def has_little_room_for_headers(patch: Patch) -> None:
    patch.setattr(server, "_STAGE_HEADER_BYTES", 16 * 1024)


KIT = {
    "acts for the message's scope": (acts_for_the_message, "the-message-says-the-scope-that-is-proven"),
    "compares unknown fields": (compares_what_it_does_not_know, "fields-of-a-later-scope-are-no-obstacle"),
    "gives clocks no leeway": (gives_clocks_no_leeway, "good-proofs-are-taken"),
    "gives clocks too much": (gives_clocks_too_much_leeway, "scope-is-proven"),
    "lets proofs live long": (lets_proofs_live_long, "scope-is-proven"),
    "has little room for headers": (has_little_room_for_headers, "the-largest-scope-is-taken"),
    "believes everybody": (believes_everybody, "scope-is-proven"),
    "asks for no scope": (asks_for_no_scope, "scope-is-required"),
    "INTERNAL for a bad enum": (breaks_down_at_a_bad_enum, "unknown-enum-numbers-are-refused"),
    "takes any enum": (checks_no_field, "unknown-enum-numbers-are-refused"),
    "takes any number": (checks_no_field, "bounds-are-kept"),
    "does not say why": (says_not_why, "empty-requests-end-with-a-reason"),
    "has reasons of its own": (calls_every_failure_not_found, "empty-requests-end-with-a-reason"),
}


@pytest.mark.parametrize("name", KIT)
@pytest.mark.parametrize("stage", ["augmentation", "generation"])
async def test_what_all_stages_promise_is_missed(stage: str, name: str, monkeypatch: Patch) -> None:
    change, check = KIT[name]
    change(monkeypatch)
    async with served(stage) as target:
        result = (await outcomes(target, check))[check]
    assert result.outcome is Outcome.FAILED, name


def each(change: Callable[[Any, Any], Any]) -> Any:
    """Change each event of a stream; None leaves it out."""

    def of(original: Any) -> Any:
        async def method(request: Any, context: Any) -> AsyncIterator[Any]:
            async for event in original(request, context):
                made = change(request, event)
                if made is not None:
                    yield made

        return method

    return of


def never_completes(_: Any, event: Any) -> Any:
    return None if event.WhichOneof("event") == "completed" else event


def cites_what_was_not_given(_: Any, event: Any) -> Any:
    for citation in event.completed.answer.citations if event.HasField("completed") else ():
        citation.number += 40
    return event


def counts_bytes(_: Any, event: Any) -> Any:
    """Spans in UTF-8's bytes, as in other languages, in place of code points."""
    for citation in event.completed.answer.citations if event.HasField("completed") else ():
        citation.quote_span.start += 5
        citation.quote_span.end += 5
    return event


def titles_at_length(request: Any, response: Any) -> None:
    response.title = request.first_message


GENERATION = {
    "never completes": Break("Generate", each(never_completes), "the-stream-ends-with-completed"),
    "cites what was not given": Break("Generate", each(cites_what_was_not_given), "citations-name-given-sources-only"),
    "counts bytes": Break("Generate", each(counts_bytes), "citation-spans-are-exact"),
    "titles at length": Break("GenerateTitle", after(titles_at_length), "titles-are-short"),
}


@pytest.mark.parametrize("name", GENERATION)
async def test_a_broken_generation_fails_the_check_of_its_promise(name: str) -> None:
    broken = GENERATION[name]
    async with served("generation", broken.method, broken.change) as target:
        result = (await outcomes(target, broken.check))[broken.check]
    assert result.outcome is Outcome.FAILED, name
    assert "could not be read" not in result.found, result.found

"""The generation service over gRPC with the built-in answerer."""

from collections.abc import AsyncIterator

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_ANSWERED,
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    FINISH_REASON_NO_RELEVANT_CONTENT,
    VERDICT_NOT_A_CLAIM,
    VERDICT_SUPPORTED,
    VERDICT_UNSPECIFIED,
    Source,
)
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.locator_pb2 import Anchor, Locator, PageLocator, SheetLocator, TextSpan
from footnote_generation.app import build
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import SCOPE, serve_app
from support.sources_with_tables import with_tables

SHEET = with_tables(
    Source(
        number=1,
        chunk_id="d1:000001:0000000",
        document_id="d1",
        filename="production.xlsx",
        text="Produit: Vis M6; Quantité en stock: 150 unités",
        locator=Locator(sheet=SheetLocator(sheet="Stocks", range="A12:C12"), span=TextSpan(start=100, end=146)),
        anchors=[
            Anchor(span=TextSpan(start=9, end=15), locator=Locator(sheet=SheetLocator(sheet="Stocks", range="A12"))),
            Anchor(span=TextSpan(start=36, end=46), locator=Locator(sheet=SheetLocator(sheet="Stocks", range="C12"))),
        ],
        score=0.9,
        label="production.xlsx, feuille 'Stocks', cellules A12:C12",
    )
)
PAGE = Source(
    number=2,
    chunk_id="d2:000001:0000004",
    document_id="d2",
    filename="rapport.pdf",
    text="Le stock de sécurité recommandé est de 200 unités pour ce produit. Il est revu chaque année.",
    locator=Locator(page=PageLocator(page=3)),
    score=0.8,
    label="rapport.pdf, page 3",
)


@pytest.fixture
async def stub() -> AsyncIterator[GenerationServiceStub]:
    """A stub of generation with the built-in answerer."""
    async with serve_app(build) as served:
        yield GenerationServiceStub(served.channel)


async def ask(stub: GenerationServiceStub, request: pb.GenerateRequest) -> list[pb.GenerateResponse]:
    return [event async for event in stub.Generate(request)]


async def test_streams_words_then_footnotes_then_the_checked_answer(stub: GenerationServiceStub) -> None:
    events = await ask(
        stub,
        pb.GenerateRequest(
            scope=SCOPE, question="Quel est le stock de sécurité recommandé ?", sources=[SHEET, PAGE], locale="fr"
        ),
    )
    completed = events[-1].completed
    answer = completed.answer
    assert "".join(event.text_delta for event in events) == answer.text
    assert "200 unités" in answer.text
    assert answer.finish_reason == FINISH_REASON_ANSWERED
    citation = answer.citations[0]
    assert citation.number == 2
    assert citation.support == VERDICT_SUPPORTED
    assert PAGE.text[citation.quote_span.start : citation.quote_span.end] == citation.quote
    assert answer.text[citation.marker_span.start : citation.marker_span.end] == "[2]"
    assert citation.label == "rapport.pdf, page 3"
    assert [event.citation for event in events if event.WhichOneof("event") == "citation"] == list(answer.citations)
    assert answer.reliability.claims_supported == 1.0
    assert answer.reliability.sources_used == 0.5
    assert completed.HasField("time_to_first_token")


async def test_cites_the_cell_that_holds_the_value(stub: GenerationServiceStub) -> None:
    events = await ask(
        stub,
        pb.GenerateRequest(scope=SCOPE, question="Quelle quantité de Vis M6 en stock ?", sources=[SHEET], locale="fr"),
    )
    citation = events[-1].completed.answer.citations[0]
    assert citation.locator.sheet.range == "C12"
    assert citation.label == "production.xlsx, feuille 'Stocks', cellule C12"


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [
        ("fr", "Je n'ai trouvé dans vos documents aucun passage qui réponde à cette question."),
        ("en", "I found no passage in your documents that answers this question."),
    ],
)
async def test_says_that_nothing_was_found(stub: GenerationServiceStub, locale: str, sentence: str) -> None:
    for sources in ([], [PAGE]):
        events = await ask(
            stub,
            pb.GenerateRequest(scope=SCOPE, question="Who painted the Mona Lisa?", sources=sources, locale=locale),
        )
        assert events[-1].completed.answer.text == sentence
        assert events[-1].completed.answer.finish_reason == FINISH_REASON_NO_RELEVANT_CONTENT


async def test_a_refusal_offers_the_nearest_passage_with_its_place(stub: GenerationServiceStub) -> None:
    question = "Qui dirige l'usine qui fabrique la Vis M6 ?"
    request = pb.GenerateRequest(scope=SCOPE, question=question, sources=[PAGE, SHEET], locale="fr")
    answer = (await ask(stub, request))[-1].completed.answer
    assert answer.finish_reason == FINISH_REASON_NO_RELEVANT_CONTENT
    assert (answer.nearest.number, answer.nearest.document_id) == (1, "d1")
    assert "Vis M6" in answer.nearest.quote
    span = answer.nearest.quote_span
    assert SHEET.text[span.start : span.end] == answer.nearest.quote
    assert answer.nearest.label.startswith("production.xlsx, feuille 'Stocks', cellule")
    assert answer.nearest.support == VERDICT_UNSPECIFIED
    assert not answer.citations
    assert not answer.claims or answer.claims[0].support == VERDICT_NOT_A_CLAIM


async def test_an_answer_and_a_refusal_without_a_near_passage_offer_none(stub: GenerationServiceStub) -> None:
    far = Source()
    far.CopyFrom(PAGE)
    far.score = 0.1
    for question, sources in (
        ("Who painted the Mona Lisa?", []),
        ("Who painted the Mona Lisa?", [far]),
        ("Quelle quantité de Vis M6 en stock ?", [SHEET]),
    ):
        request = pb.GenerateRequest(scope=SCOPE, question=question, sources=sources, locale="fr")
        assert not (await ask(stub, request))[-1].completed.answer.HasField("nearest"), question


@pytest.mark.parametrize(
    ("locale", "said"), [("en", "I cannot look into your documents"), ("fr", "consulter vos documents")]
)
async def test_a_question_whose_documents_are_out_of_reach_gets_no_greeting(
    stub: GenerationServiceStub, locale: str, said: str
) -> None:
    request = pb.GenerateRequest(
        scope=SCOPE, question="How long is the notice period?", locale=locale, without_sources=True,
        documents_unavailable=True,
    )  # fmt: skip
    completed = (await ask(stub, request))[-1].completed
    assert said in completed.answer.text
    assert completed.answer.finish_reason == FINISH_REASON_ANSWERED_WITHOUT_SOURCES


async def test_greets_without_sources(stub: GenerationServiceStub) -> None:
    events = await ask(stub, pb.GenerateRequest(scope=SCOPE, question="Hello!", locale="en", without_sources=True))
    assert events[-1].completed.answer.finish_reason == FINISH_REASON_ANSWERED_WITHOUT_SOURCES


@pytest.mark.parametrize(
    "request_",
    [
        pb.GenerateRequest(scope=SCOPE, question=" "),
        pb.GenerateRequest(scope=SCOPE, question="q", settings=GenerationSettings(provider="nobody")),
        pb.GenerateRequest(scope=SCOPE, question="q", settings=GenerationSettings(temperature=5)),
        pb.GenerateRequest(scope=SCOPE, question="q", sources=[PAGE, PAGE]),
    ],
)
async def test_refuses_what_it_cannot_use(stub: GenerationServiceStub, request_: pb.GenerateRequest) -> None:
    with pytest.raises(InvalidArgument):
        await ask(stub, request_)


async def test_titles_a_conversation(stub: GenerationServiceStub) -> None:
    request = pb.GenerateTitleRequest(
        scope=SCOPE, first_message="Bonjour, pouvez-vous me dire combien de congés j'ai ?"
    )
    title = (await stub.GenerateTitle(request)).title
    assert title == "Combien de congés j'ai"


async def test_lists_and_checks_providers(stub: GenerationServiceStub) -> None:
    listed = await stub.ListProviders(pb.ListProvidersRequest(scope=SCOPE))
    assert {p.id for p in listed.providers} == {"builtin", "openai", "ollama", "gemini", "vllm", "anthropic"}
    assert (await stub.CheckProvider(pb.CheckProviderRequest(scope=SCOPE, id="builtin"))).health.healthy
    assert not (await stub.ValidateProvider(pb.ValidateProviderRequest(scope=SCOPE, id="nobody"))).valid

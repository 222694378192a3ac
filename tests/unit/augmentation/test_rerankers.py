"""The rerankers: what each prefers, and how the endpoint's failures come back."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import uvicorn
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_RERANK
from footnote_augmentation.adapters.registrations import registrations
from footnote_augmentation.registry import Rerankers
from footnote_augmentation.rerank import RerankStep
from footnote_augmentation.settings import Settings
from footnote_kit.degradations import word
from footnote_kit.errors import FailedPrecondition, InvalidArgument
from footnote_kit.registration import Kind, NoSettings, Registration, Registry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

QUESTION = "How many days of paid leave do employees receive?"
TEXTS = [
    "The canteen serves lunch from noon. Employees may bring guests.",
    "Employees receive 25 days of paid leave per year.",
    "Employees receive 25 days of paid leave each year, says the handbook.",
    "Paid parking is available for visitors.",
]


def candidates(scores: list[float]) -> list[ScoredChunk]:
    return [
        ScoredChunk(chunk=Chunk(id=str(i), text=text), score=s)
        for i, (text, s) in enumerate(zip(TEXTS, scores, strict=True))
    ]


class RerankServer:
    """A `/rerank` endpoint of both forms; `reply` changes what it answers."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, object]] = []
        self.status = 200
        self.hang: asyncio.Event | None = None
        self.spoil = False

    async def __call__(self, request: Request) -> JSONResponse:
        body = await request.json()
        self.bodies.append(body)
        if self.hang is not None:
            await self.hang.wait()
        texts = body.get("documents") or body.get("texts")
        # Longest first, and in no order, as endpoints do.
        rows = [
            {"index": i, ("score" if "texts" in body else "relevance_score"): len(t) / 1000}
            for i, t in enumerate(texts)
        ]
        rows.sort(key=lambda row: -row["index"])
        if self.spoil:
            rows = rows[1:]
        return JSONResponse(rows if "texts" in body else {"results": rows}, self.status)


@pytest.fixture
async def endpoint() -> AsyncIterator[tuple[RerankServer, str]]:
    """A rerank server on loopback, and its address."""
    served = RerankServer()
    app = Starlette(routes=[Route("/rerank", served.__call__, methods=["POST"])])
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield served, f"http://127.0.0.1:{listening.getsockname()[1]}/rerank"
    if served.hang is not None:
        served.hang.set()
    server.should_exit = True
    await task
    listening.close()


async def test_lexical_prefers_the_passage_that_covers_the_question() -> None:
    step = RerankStep(Rerankers(registrations(Settings())), 5)
    ordered, degradation = await step.apply("lexical", "", {}, QUESTION, candidates([0.6, 0.5, 0.1, 0.55]))
    assert degradation is None
    assert ordered[0].chunk.id == "1"
    assert ordered[0].adjustments[-1].kind == SCORE_ADJUSTMENT_KIND_RERANK


async def test_mmr_puts_something_new_before_a_repetition() -> None:
    step = RerankStep(Rerankers(registrations(Settings())), 5)
    ordered, _ = await step.apply("mmr", "", {"balance": 0.5}, QUESTION, candidates([0.5, 0.9, 0.89, 0.4]))
    assert [item.chunk.id for item in ordered][:2] == ["1", "0"]
    assert [item.score for item in ordered] == sorted((item.score for item in ordered), reverse=True)


async def test_cosine_uses_an_embedding_provider() -> None:
    step = RerankStep(Rerankers(registrations(Settings())), 5)
    ordered, degradation = await step.apply("cosine", "", {"provider": "builtin"}, QUESTION, candidates([0.5] * 4))
    assert degradation is None
    assert ordered[0].chunk.id in {"1", "2"}


@pytest.mark.parametrize("form", ["cohere", "tei"])
async def test_http_reads_both_forms(endpoint: tuple[RerankServer, str], form: str) -> None:
    server, url = endpoint
    rerankers = Rerankers(registrations(Settings(rerank_url=url)))
    ordered, degradation = await RerankStep(rerankers, 5).apply(
        "http", "m", {"form": form}, QUESTION, candidates([0.5] * 4)
    )
    assert degradation is None
    assert ordered[0].chunk.text == max(TEXTS, key=len)
    assert server.bodies[0]["query"] == QUESTION
    await rerankers.close()


async def test_http_asks_in_batches_that_tei_takes_and_reads_their_scores_alike(
    endpoint: tuple[RerankServer, str],
) -> None:
    server, url = endpoint
    rerankers = Rerankers(registrations(Settings(rerank_url=url)))
    texts = ["x" * (10 + at) for at in range(70)] + ["x" * 2500]  # the server's scores: a thousandth of the length
    async with rerankers.lease("http", "m", {"form": "tei"}) as reranker:
        scores = await reranker.rerank(QUESTION, texts, [0.5] * len(texts))
    assert [len(body["texts"]) for body in server.bodies] == [32, 32, 7]  # type: ignore[arg-type]
    # 2.5 is a logit, and so are the others then, whatever batch they were in.
    assert scores == pytest.approx([1 / (1 + math.exp(-len(text) / 1000)) for text in texts])
    await rerankers.close()


@pytest.mark.parametrize("trouble", ["status", "spoil", "hang"])
async def test_a_failing_reranker_is_left_out_and_reported(endpoint: tuple[RerankServer, str], trouble: str) -> None:
    server, url = endpoint
    if trouble == "status":
        server.status = 503
    elif trouble == "spoil":
        server.spoil = True
    else:
        server.hang = asyncio.Event()
    rerankers = Rerankers(registrations(Settings(rerank_url=url)))
    given = candidates([0.9, 0.8, 0.7, 0.6])
    ordered, degradation = await RerankStep(rerankers, 0.3).apply("http", "", {}, QUESTION, given)
    assert ordered == given
    assert degradation is not None
    assert word(degradation) == "RERANKER_FAILED"
    await rerankers.close()


@pytest.mark.parametrize(
    ("provider", "settings"),
    [("nobody", {}), ("lexical", {"weight": 7}), ("mmr", {"colour": 1})],
)
async def test_wrong_settings_are_the_requests_fault(provider: str, settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        async with Rerankers(registrations(Settings())).lease(provider, "", settings):
            pass
    assert caught.value.reason == "PROVIDER_INVALID"


@pytest.mark.parametrize("provider", ["onnx", "http"])
async def test_what_the_deployment_has_not_given_is_named(provider: str) -> None:
    with pytest.raises(FailedPrecondition, match=f"The {provider} reranker needs") as caught:
        async with Rerankers(registrations(Settings())).lease(provider, "", {}):
            pass
    assert caught.value.reason == "PROVIDER_UNCONFIGURED"
    assert caught.value.metadata["needs"].startswith("FOOTNOTE_AUGMENTATION_RERANK_")


class Broken:
    """A reranker of another package that does not keep its promise."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> Any:
        if isinstance(self.scores, Exception):
            raise self.scores
        return self.scores

    async def close(self) -> None:
        pass


def with_broken(scores: Any) -> RerankStep:
    broken: Registration[NoSettings, Any] = Registration(
        kind=Kind.RERANKER, id="broken", display_name="Broken", settings=NoSettings, make=lambda _: Broken(scores)
    )
    return RerankStep(Rerankers(Registry(Kind.RERANKER, [broken])), 5)


@pytest.mark.parametrize(
    "scores",
    [[0.1, math.nan, 0.9, 0.5], [0.1, math.inf, 0.9, 0.5], [0.1, 0.9], [None] * 4, None, RuntimeError("x"), KeyError()],
)
async def test_a_reranker_that_breaks_its_promise_is_left_out(scores: Any) -> None:
    given = candidates([0.1, 0.4, 0.3, 0.2])
    ordered, degradation = await with_broken(scores).apply("broken", "", {}, QUESTION, given)
    assert ordered == given
    assert degradation is not None
    assert word(degradation) == "RERANKER_FAILED"


async def test_scores_outside_of_the_scale_count_as_its_ends() -> None:
    ordered, degradation = await with_broken([-3.0, 2.5, 7.5, 0.1]).apply(
        "broken", "", {}, QUESTION, candidates([0.5] * 4)
    )
    assert degradation is None
    assert [(item.chunk.id, item.score) for item in ordered] == [("2", 1.0), ("1", 1.0), ("3", 0.1), ("0", 0.0)]

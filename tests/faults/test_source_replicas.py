"""Two replicas of edge on PostgreSQL and one source: never two runs at once, and a killed one's run is taken over."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.settings import STAGES
from support import edge_sources as kept
from support.edge_client import edge_client
from support.replicas.cluster import Cluster, cluster, why_not
from support.source_servers import Site, site

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]

PAGES, ROUNDS = 12, 10
HIDDEN = "<meta name=robots content=noindex>"
"""Of the page that leads to the others: it is no item."""


@pytest.fixture
def web() -> Iterator[Site]:
    """A site on loopback with many pages behind one."""
    with site() as served:
        names = [f"p{number}" for number in range(PAGES)]
        served.page("/docs/", "".join(f"<a href={name}>x</a>" for name in names), head=HIDDEN)
        for name in names:
            served.page(f"/docs/{name}", f"<p>The text of the page {name}, in words enough to be read.</p>")
        yield served


def runs(web: Site) -> int:
    """Return how often the site was listed since the last look: each listing asks for its beginning once."""
    found = Counter(path for path, _ in list(web.asked))["/docs/"]
    web.asked.clear()
    return found


async def test_two_replicas_never_run_one_source_twice(
    web: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "LIMIT", 300.0)
    counts = {stage: 2 if stage == "edge" else 1 for stage in STAGES}
    reached = {"FOOTNOTE_EDGE_SOURCE_PRIVATE_HOSTS": "127.0.0.1", "FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS": "1"}
    async with cluster(tmp_path, counts, reached) as running:
        await _together(running, web)
        await _taken_over(running, web)


async def _together(running: Cluster, web: Site) -> None:
    first, second = running.of("edge")
    async with edge_client(running.one(first)) as one, edge_client(running.one(second)) as two:
        await kept.collection(one.stub)
        settings = {"url": f"{web.base}/docs/", "delay": 0}
        source = await kept.settled(one.stub, await kept.create(one.stub, "web", settings))
        assert (source.items_in_step, runs(web)) == (PAGES, 1)
        begun = set()
        for _ in range(ROUNDS):
            request = kept.pb.SyncSourceRequest(source_id=source.id)
            answers = await asyncio.gather(*(client.stub.SyncSource(request) for client in (one, two, one, two)))
            begun |= {answer.operation.id for answer in answers}
            await kept.settled(one.stub, source)
        assert runs(web) == len(begun)
        assert len(begun) >= ROUNDS
        # Due at once: both replicas' schedules see it.
        for number in range(3):
            change = kept.pb.Source()
            change.settings.update({**settings, "depth": number + 2})
            await one.stub.UpdateSource(kept.pb.UpdateSourceRequest(source_id=source.id, resource=change))
            async with asyncio.timeout(240):
                while not web.asked:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            await kept.settled(two.stub, source)
            await asyncio.sleep(3)  # some more looks of each
            assert runs(web) == 1


async def _taken_over(running: Cluster, web: Site) -> None:
    first, second = running.of("edge")
    for name in range(PAGES):
        web.page(f"/docs/p{name}", f"<p>Another text of the page {name}, in words enough to be read.</p>")
    async with edge_client(running.one(second)) as client:
        (source,) = (await client.stub.ListSources(kept.pb.ListSourcesRequest())).sources
        async with edge_client(running.one(first)) as killed:
            await killed.stub.SyncSource(kept.pb.SyncSourceRequest(source_id=source.id))
            await asyncio.sleep(0.5)
            await running.kill(first)
        await kept.settled(client.stub, source)
        documents = await kept.at_rest(client, "kept")
        assert len(documents) == PAGES
        assert {one.state for one in documents} == {DOCUMENT_STATE_INDEXED}
        assert {one.revision for one in documents} == {2}

"""After a change of some items exactly those are touched. In full size: tests/bench/test_bench_sources.py."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote_edge.app import build
from footnote_edge.sources import engine, transfer
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from support import edge_sources as kept
from support.doubles.stages import World, serve_doubles
from support.matrices import sampled
from support.source_origins import missing, origin

COUNT = 60


@pytest.fixture
async def edge(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    """A stub of edge that may read this test's folder and sites on loopback."""
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_FOLDERS", str(tmp_path))
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_PRIVATE_HOSTS", "127.0.0.1")
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_KEY", "A" * 43 + "=")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.2")
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        stub = EdgeStub(running.channel)
        await kept.collection(stub)
        yield stub


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", sampled(["web", "git", "bucket", "mailbox", "folder"], every=4))
async def test_exactly_what_changed_is_touched(edge: EdgeStub, world: World, tmp_path: Path, kind: str) -> None:
    if why := missing(kind):
        pytest.skip(why)
    texts = {f"n{number}": f"The text of item number {number}, in words enough for a page." for number in range(COUNT)}
    with origin(kind, tmp_path) as place:
        place.write(texts)
        made = await kept.create(edge, kind, place.settings, secrets=place.secrets or None)
        source = await kept.settled(edge, made)
        assert (source.items, source.items_in_step) == (COUNT, COUNT), source

        world.calls.clear()
        await kept.sync(edge, source)
        assert touched(world) == (0, 0, 0)

        texts["n0"] += " Changed."
        del texts["n1"]
        texts["moved"] = texts.pop("n2")
        place.write(texts)
        world.calls.clear()
        await kept.sync(edge, source)
    assert set(kept.contents(world)) == {place.item(name) for name in texts}
    if kind == "mailbox":  # a mail's id is in its bytes: what has another is another mail
        assert touched(world) == (1, 1, 2)
    else:
        assert touched(world) == (0, 2, 1)
    assert len(world.requests("ParseDocument")) == 2  # what is new, and what has another name


def touched(world: World) -> tuple[int, int, int]:
    """Return how many documents were made, given another origin (again where they changed meanwhile), and deleted."""
    labelled = {request.document_id for request in world.requests("UpdateDocument")}
    return len(world.requests("UploadDocument")), len(labelled), len(world.requests("BeginDeletion"))


async def test_bodies_of_a_listing_fill_no_disk(
    edge: EdgeStub, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site's pages come with its listing, before any quota counts them."""
    most = 1000
    stored: list[int] = []

    class Watched(transfer.Spool):
        async def keep(self, key: str, body: bytes) -> None:
            await super().keep(key, body)
            stored.append(sum(one.stat().st_size for one in self._folder.iterdir()))

    monkeypatch.setattr(transfer, "SPOOL_BYTES", most)
    monkeypatch.setattr(engine, "Spool", Watched)
    texts = {f"n{number}": f"The text of item number {number}, in words enough for a page." for number in range(10)}
    with origin("web", tmp_path) as made:
        made.write(texts)
        source = await kept.settled(edge, await kept.create(edge, "web", made.settings))
    assert (source.items_in_step, len(kept.contents(world))) == (10, 10)
    assert 0 < max(stored) <= most
    assert len(stored) == 10

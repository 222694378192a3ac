"""Sources at full size on a whole deployment: the first synchronisation, one of few changes, one of none.

A seeded model says what must be there: of a hundredth changed, a hundredth deleted and a hundredth moved exactly those
documents are touched, what is deleted is found no more, and one of nothing takes at most a twentieth of the
first. Each run is measured in seconds, in seconds of processor time of all services with the engine and the parsers,
in requests and bytes at the origin where it counts them, and in embedded tokens. `FOOTNOTE_BENCH_SOURCES` is the share
of the full size, 1 by default; `-k bucket` chooses a kind. With another share only what is touched is judged: what a
synchronisation costs in itself weighs more among few items.

    FOOTNOTE_SOURCES_OUT=sources.jsonl .venv/bin/python -m pytest tests/bench/test_bench_sources.py -n 0 -s
"""

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from footnote.edge.v1 import operations_pb2 as ops
from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.system_pb2 import GetUsageRequest
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from support import edge_sources as kept
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.source_origins import GitOrigin, Origin, missing, origin

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(7200)]

SHARE = float(os.environ.get("FOOTNOTE_BENCH_SOURCES", "1"))
FULL = {"web": 2000, "git": 5000, "bucket": 10_000, "mailbox": 5000, "folder": 5000}
COMMITS = 300
NOTHING = 0.05
"""Of the first synchronisation's time, or of its processor time on a machine that has other work, at most."""
LOOKED = 5
"""Words that are searched for, of each kind of change."""
LETTERS = "bcdfghjklmnpqrstvwxz"


class Model:
    """What must be there: texts by name, each with a word of its own."""

    def __init__(self, count: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.words: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        for number in range(count):
            self._say(f"n{number:05}")

    def _say(self, name: str) -> None:
        word = self.words[name] = "".join(self.chance.choice(LETTERS) for _ in range(12))
        self.texts[name] = f"The code word of item {name} is {word}, as the handbook says in its first part.\n"

    def change(self) -> tuple[dict[str, str], list[str], list[str], list[tuple[str, str]]]:
        """Change, delete and move a hundredth each; return the words before, and names of what was done to."""
        before, share = dict(self.words), max(len(self.texts) // 100, 1)
        chosen = self.chance.sample(sorted(self.texts), 3 * share)
        changed, deleted, old = chosen[:share], chosen[share : 2 * share], chosen[2 * share :]
        for name in changed:
            self._say(name)
        for name in deleted:
            del self.texts[name], self.words[name]
        moved = [(name, f"m{name[1:]}") for name in old]
        for name, fresh in moved:
            self.texts[fresh], self.words[fresh] = self.texts.pop(name), self.words.pop(name)
        return before, changed, deleted, moved


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment that may read this test's folder and sites on loopback."""
    env = {
        "FOOTNOTE_EDGE_SOURCE_FOLDERS": str(tmp_path), "FOOTNOTE_EDGE_SOURCE_PRIVATE_HOSTS": "127.0.0.1",
        "FOOTNOTE_EDGE_SOURCE_KEY": "A" * 43 + "=", "FOOTNOTE_EDGE_SOURCE_WATCHES": "0",
    }  # fmt: skip
    data = tmp_path / "data"
    data.mkdir()
    with deployment(data, env=env) as started:
        yield started


class Meter:
    """What a run costs: seconds, processor seconds, embedded tokens, and what the origin counts."""

    def __init__(self, client: EdgeClient, running: Deployment, place: Origin) -> None:
        self._client, self._running, self._place = client, running, place
        self._before = (0.0, 0.0, 0)

    async def begin(self) -> None:
        self._place.cost()
        self._before = await self._now()

    async def end(self) -> dict[str, Any]:
        was, now = self._before, await self._now()
        seconds, processor = round(now[0] - was[0], 2), round(now[1] - was[1], 2)
        return {"seconds": seconds, "processor_s": processor, "tokens": now[2] - was[2], **self._place.cost()}

    async def _now(self) -> tuple[float, float, int]:
        usage = await self._client.stub.GetUsage(GetUsageRequest(), timeout=120)
        return time.monotonic(), processor_seconds(self._running), usage.own.tokens_today


def processor_seconds(running: Deployment) -> float:
    """Return the processor time of all processes of a deployment so far, of those that ended as well."""
    total = 0.0
    for process in running.processes.values():
        parent = psutil.Process(process.pid)
        for one in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


async def documents(client: EdgeClient) -> dict[str, Document]:
    found = {one.source.item: one for one in await client.documents("kept")}
    assert {one.state for one in found.values()} == {DOCUMENT_STATE_INDEXED}
    return found


async def hits(client: EdgeClient, word: str) -> list[str]:
    """Return the documents that search finds a word in."""
    found = await client.stub.Search(SearchRequest(query=word, collections=["kept"]), timeout=60)
    return [one.chunk.document_id for one in found.chunks if word in one.chunk.text]


async def judge(client: EdgeClient, source: pb.Source, model: Model, place: Origin, meter: Meter) -> dict[str, Any]:
    """Change the origin, synchronise, and compare every document with the model; return what was touched."""
    before = await documents(client)
    words, changed, deleted, moved = model.change()
    place.write(model.texts)
    await meter.begin()
    assert (await kept.sync(client.stub, source)).state == ops.OPERATION_STATE_SUCCEEDED
    cost = await meter.end()
    after = await documents(client)
    assert set(after) == {place.item(name) for name in model.texts}
    again = {place.item(name) for name in changed}
    old_of = {place.item(fresh): place.item(old) for old, fresh in moved}
    remade = 0
    for item, document in after.items():
        was = before[old_of.get(item, item)]
        if item in old_of and source.kind == "mailbox":  # a mail's id is in its bytes: with another it is another mail
            remade += 1
            assert document.id != was.id
            continue
        assert document.id == was.id, item
        assert (document.revision != was.revision) == (item in again), item
    for name in deleted[:LOOKED]:
        assert not await hits(client, words[name])
    for name in changed[:LOOKED]:
        assert not await hits(client, words[name])
        assert await hits(client, model.words[name])
    touched = {"changed": len(again), "deleted": len(deleted), "moved": len(moved), "made_again": remade}
    return {**touched, **cost}


@pytest.mark.parametrize("kind", FULL)
async def test_a_source_of_full_size(
    running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if why := missing(kind):
        pytest.skip(why)
    monkeypatch.setattr(kept, "LIMIT", 7000.0)
    model = Model(max(int(FULL[kind] * SHARE), 20), seed=43)
    with origin(kind, tmp_path) as place:
        if isinstance(place, GitOrigin):
            place.history(model.texts, max(int(COMMITS * SHARE), 3))
        place.write(model.texts)
        async with edge_client(running.address()) as client:
            await kept.collection(client.stub)
            meter = Meter(client, running, place)
            await meter.begin()
            made = await kept.create(client.stub, kind, place.settings, secrets=place.secrets or None)
            source = await kept.settled(client.stub, made)
            first = await meter.end()
            assert (source.items, source.items_in_step) == (len(model.texts), len(model.texts)), source
            touched = await judge(client, source, model, place, meter)
            await meter.begin()
            await kept.sync(client.stub, source)
            nothing = await meter.end()
    share = {name: round(nothing[name] / first[name], 3) for name in ("seconds", "processor_s")}
    line: dict[str, Any] = {
        "kind": kind, "items": len(model.texts), "share": SHARE, "first": first, "changes": touched,
        "nothing": nothing, "nothing_of_first": share,
    }  # fmt: skip
    print(f"\n{json.dumps(line)}")
    if out := os.environ.get("FOOTNOTE_SOURCES_OUT"):
        with Path(out).open("a") as file:  # noqa: ASYNC230 - at the end of a measurement
            file.write(f"{json.dumps(line)}\n")
    assert nothing["tokens"] == 0
    assert SHARE < 1 or share["seconds"] <= NOTHING

"""Two replicas of every service (or more), on PostgreSQL, Redis and S3: rolling restarts, kills, and what all share.

FOOTNOTE_REPLICAS is how many there are of each service, FOOTNOTE_REPLICAS_OF names services that alone have so many
(the others two), FOOTNOTE_REPLICAS_ONLY the services that are restarted and killed; `pytest -s` prints the tables.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from footnote.client import AsyncClient, Retry
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest
from footnote.edge.v1.system_pb2 import GetTraceRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_edge.jobs.leases import BEAT_SECONDS
from footnote_kit.errors import ResourceExhausted
from footnote_kit.settings import STAGES
from support.replicas.cluster import Cluster, cluster, why_not
from support.replicas.load import KNOWN, QUESTION, audit, load, settled
from support.replicas.tables import table

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
    pytest.mark.skipif(
        "FOOTNOTE_REPLICAS" not in os.environ, reason="a dozen processes for half an hour: set FOOTNOTE_REPLICAS=2"
    ),
]

REPLICAS = int(os.environ.get("FOOTNOTE_REPLICAS", "2"))
MANY = os.environ.get("FOOTNOTE_REPLICAS_OF", ",".join(STAGES)).split(",")
ONLY = os.environ.get("FOOTNOTE_REPLICAS_ONLY", ",".join(STAGES)).split(",")
SETTLE = 2.0
"""Seconds of load before and after each event."""
TAKEN_OVER = 30.0
FILES = 8


async def known(client: AsyncClient) -> None:
    """Have the one file searchable that all questions are about."""
    accepted = await client.upload(KNOWN, filename="allowance.txt")
    async for change in client.watch(accepted.document.id, timeout=120):
        last = change.document.state
    assert last == DOCUMENT_STATE_INDEXED


async def test_replicas_come_and_go_and_callers_see_nothing(tmp_path: Path) -> None:
    counts = {stage: REPLICAS if stage in MANY else 2 for stage in STAGES}
    wrong: list[str] = []
    async with cluster(tmp_path, counts) as running, AsyncClient(running.address("edge")) as client:
        await known(client)
        print(f"\nReplicas: {counts}")
        wrong += await rolling(running, client)
        wrong += await killed(running, client)
        wrong += await taken_over(running, client)
    assert not wrong, "\n".join(wrong)


async def rolling(running: Cluster, client: AsyncClient) -> list[str]:
    """Restart each service's replicas in turn, under load."""
    rows, wrong = [], []
    for stage in ONLY:
        async with load(running.address("edge"), f"rolling-{stage}") as outcome:
            await asyncio.sleep(SETTLE)
            for replica in running.of(stage):
                await running.end(replica)
                await running.begin(replica)
            await asyncio.sleep(SETTLE)
        await settled(client, set(outcome.acknowledged.values()), 180)
        found = await audit(client, outcome.acknowledged)
        rows.append(
            (stage, outcome.made, len(outcome.failed), dict(outcome.degraded) or 0, outcome.longest,
             found.acknowledged, found.lost, found.doubled, found.unsearchable + found.misfound)
        )  # fmt: skip
        print(rows[-1], *outcome.failed, sep="\n", flush=True)
        wrong += [f"rolling {stage}: {one}" for one in outcome.failed]
        if found.lost or found.doubled or found.unsearchable or found.misfound:
            wrong.append(f"rolling {stage}: {found}")
    head = ("restarted in turn", "calls", "failed", "degraded", "slowest, s", "files acknowledged", "lost", "doubled",
            "not found")  # fmt: skip
    print("\n" + table(head, rows), flush=True)
    return wrong


async def killed(running: Cluster, client: AsyncClient) -> list[str]:
    """Kill one replica of each service under load; it comes back a while later."""
    rows, wrong = [], []
    for stage in ONLY:
        async with load(running.address("edge"), f"killed-{stage}") as outcome:
            await asyncio.sleep(SETTLE)
            await running.kill((stage, 0))
            await asyncio.sleep(2 * SETTLE)
            await running.begin((stage, 0))
            await asyncio.sleep(SETTLE)
        await settled(client, set(outcome.acknowledged.values()), 120)
        found = await audit(client, outcome.acknowledged)
        failed = Counter(one.split(":")[0] for one in outcome.failed)
        rows.append(
            (stage, outcome.made, dict(failed) or 0, dict(outcome.degraded) or 0, outcome.longest,
             found.acknowledged, found.lost, found.doubled, found.unsearchable + found.misfound)
        )  # fmt: skip
        print(rows[-1], flush=True)
        for one in sorted(set(outcome.failed)):
            print(f"kill -9 of {stage}: {one}")
        if found.lost or found.doubled or found.unsearchable or found.misfound:
            wrong.append(f"killed {stage}: {found}")
    head = ("one killed -9", "calls", "failed", "degraded", "slowest, s", "files acknowledged", "lost", "doubled",
            "not found")  # fmt: skip
    print("\n" + table(head, rows), flush=True)
    return wrong


async def taken_over(running: Cluster, client: AsyncClient) -> list[str]:
    """Kill one replica of each service amid a batch of jobs and leave it dead until they are done."""
    rows, wrong = [], []
    for stage in ONLY:
        ids = set()
        for number in range(FILES):
            text = f"File {number} of {stage}. " + "It goes on for a while. " * 400
            ids.add((await client.upload(text.encode(), filename=f"{stage}-{number}.txt")).document.id)
        await running.kill((stage, 1))
        seconds = await settled(client, ids, 120)
        rows.append((stage, FILES, f"{seconds:.1f}"))
        print(rows[-1], flush=True)
        if seconds > TAKEN_OVER:
            wrong.append(f"the jobs of {stage} took {seconds:.1f} s")
        await running.begin((stage, 1))
    print("\n" + table(("one killed -9 for good", "files in work", "all done after, s"), rows), flush=True)
    return wrong


async def test_replicas_share_what_they_promise(tmp_path: Path) -> None:
    counts = {stage: REPLICAS if stage in MANY else 2 for stage in STAGES}
    wrong: list[str] = []
    async with cluster(tmp_path, counts) as running, AsyncClient(running.address("edge")) as client:
        await known(client)
        wrong += await balanced(running, client)
        wrong += await watched(running)
        wrong += await traced(running, client)
        wrong += await limited(running)
    assert not wrong, "\n".join(wrong)


async def balanced(running: Cluster, client: AsyncClient) -> list[str]:
    """Count which replica was asked what."""
    before = {one: await running.calls(one) for one in running.all()}
    number = 10 * REPLICAS
    for one in range(number):
        await client.answers.Search(SearchRequest(query=QUESTION))
        await client.answer(QUESTION)
        await client.upload(f"Balance {one}.".encode(), filename=f"balance-{one}.txt")
    after = {one: await running.calls(one) for one in running.all()}
    rows, wrong = [], []
    for stage, method in (
        ("edge", "Search"), ("edge", "Ask"), ("edge", "UploadDocument"), ("ingestion", "UploadDocument"),
        ("retrieval", "Retrieve"), ("augmentation", "BuildPrompt"), ("generation", "Generate"),
        ("indexing", "IndexDocument"),
    ):  # fmt: skip
        shares = [after[one].get(method, 0) - before[one].get(method, 0) for one in running.of(stage)]
        rows.append((stage, method, sum(shares), " / ".join(map(str, shares))))
        if min(shares) < sum(shares) / len(shares) / 2:
            wrong.append(f"{stage} {method}: {shares}")
    print("\n" + table(("service", "call", "all", "by replica"), rows), flush=True)
    return wrong


async def watched(running: Cluster) -> list[str]:
    """Upload at one edge and watch at another."""
    rows, wrong = [], []
    async with AsyncClient(running.one(("edge", 0))) as here, AsyncClient(running.one(("edge", 1))) as there:
        text = "It goes on for a while. " * 2000
        accepted = await here.upload(text.encode(), filename="watched.txt")
        own, other = await asyncio.gather(_events(here, accepted.document.id), _events(there, accepted.document.id))
        rows = [("the one that took the file", own[0], f"{own[1]:.1f}"), ("another", other[0], f"{other[1]:.1f}")]
        if other[1] > own[1] + 3:
            wrong.append(f"the other replica told of the end {other[1] - own[1]:.1f} s later")
    print("\n" + table(("watched at", "changes told", "end told after, s"), rows), flush=True)
    return wrong


async def _events(client: AsyncClient, document_id: str) -> tuple[int, float]:
    began, number = time.monotonic(), 0
    async for _ in client.watch(document_id, timeout=120):
        number += 1
    return number, time.monotonic() - began


async def traced(running: Cluster, client: AsyncClient) -> list[str]:
    """Ask for the traces of answers at every edge: the spans of all services are everywhere."""
    rows, wrong = [], []
    await asyncio.sleep(BEAT_SECONDS + 1)  # until all edges know of each other
    traces = [(await client.answer(QUESTION)).trace_id for _ in range(2 * REPLICAS)]
    for one in running.of("edge"):
        async with AsyncClient(running.one(one)) as edge:
            told, again = [], 0
            for trace in traces:
                told.append(await edge.system.GetTrace(GetTraceRequest(trace_id=trace)))
                while told[-1].missing and again < len(traces):  # one was silent for 3 s: the machine is crowded
                    told[-1], again = await edge.system.GetTrace(GetTraceRequest(trace_id=trace)), again + 1
        services = [{span.service for span in trace.spans} for trace in told]
        spans = [len(trace.spans) for trace in told]
        lacking = sum(
            "footnote-edge" not in some or "edge" in trace.missing for some, trace in zip(services, told, strict=True)
        )
        rows.append((f"edge {one[1]}", len(traces), [len(some) for some in services], spans, again, lacking))
        if lacking:
            wrong.append(f"{lacking} of {len(traces)} traces at {one} lack spans of edge")
        if min(map(len, services)) < len(STAGES) - 1:
            wrong.append(f"traces at {one}: {services}")
    print(
        "\n" + table(("asked at", "traces", "services in each", "spans in each", "asked again", "edge missing"), rows),
        flush=True,
    )
    return wrong


async def limited(running: Cluster) -> list[str]:
    """Set a limit, and make more calls than it allows at all replicas."""
    limit = 60
    running.more["FOOTNOTE_EDGE_REQUESTS_PER_MINUTE"] = str(limit)
    for one in running.of("edge"):
        await running.end(one)
        await running.begin(one)
    await asyncio.sleep(BEAT_SECONDS + 1)  # until both know of each other
    taken, refused, began = 0, 0, time.monotonic()
    async with AsyncClient(running.address("edge"), retry=Retry(attempts=1)) as client:
        while time.monotonic() - began < 30:
            try:
                await client.documents.ListDocuments(ListDocumentsRequest(page_size=1))
                taken += 1
            except ResourceExhausted:
                refused += 1
            await asyncio.sleep(0.05)
    seconds = time.monotonic() - began
    allowed = limit / 60 * (seconds + 10)  # what ten seconds of quiet have saved comes on top
    print("\n" + table(
        ("limit a minute", "seconds", "allowed with the burst", "taken", "refused"),
        [(limit, f"{seconds:.0f}", f"{allowed:.0f}", taken, refused)],
    ), flush=True)  # fmt: skip
    return [] if taken <= allowed + 1 else [f"{taken} calls were let in where {allowed:.0f} were allowed"]

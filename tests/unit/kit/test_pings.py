"""Pings detect a frozen stage, and tolerate one that is only silent or busy."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from footnote.indexing.v1.indexing_service_pb2 import ListCollectionsRequest
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote_kit import clients, server
from footnote_kit.clients import changes_nothing, open_channel
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.settings import KitSettings
from footnote_kit.testing import SCOPE
from support.certificates import Authority, Place
from support.doubles.service_process import STAGE, service_process
from support.doubles.services import Ask, SampleStub, contract
from support.frozen import freeze, thaw

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LONG = 90.0
"""Seconds, the deadline of calls that must end before it."""
BOUND = round(clients.PING_SECONDS + clients.PING_ANSWER_SECONDS)
WAYS = ("tcp", "unix", "mtls")


@contextmanager
def running(way: str, folder: Path) -> Iterator[tuple[int, str, KitSettings]]:
    """Run a stage; yield its process, its address, and the settings of its callers."""
    if way == "mtls":
        house = Authority(folder, "house")
        place, caller = Place(folder, "stage").put(house), Place(folder, "caller").put(house)
        with service_process(env=place.env) as (pid, address):
            yield pid, address, caller.settings
    else:
        with service_process(f"unix:{folder}/socket" if way == "unix" else "127.0.0.1:0") as (pid, address):
            yield pid, address, KitSettings()


async def ended(call: Awaitable[object]) -> str:
    """Return how a call ended: its code, its reason, and of which stage that is said."""
    try:
        return f"answered: {await call}"
    except FootnoteError as error:
        return f"{error.code} {error.reason} {error.metadata.get('stage')}"


async def test_calls_to_a_process_that_stands_still_end_and_the_next_are_refused_until_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, shortened in (("PING", 1.0), ("PING_ANSWER", 5.0), ("CONNECT", 3.0)):
        monkeypatch.setattr(clients, f"{name}_SECONDS", shortened)

    async def frozen(way: str) -> None:
        (folder := tmp_path / way).mkdir()
        with running(way, folder) as (pid, address, settings):
            async with open_channel(address, STAGE, settings) as channel:
                await stands_still_and_goes_on(pid, channel)

    await asyncio.gather(*map(frozen, WAYS))  # each waits for ten seconds


async def stands_still_and_goes_on(pid: int, channel: grpc.aio.Channel) -> None:
    listing = ListCollectionsRequest(scope=SCOPE)
    sample, stage = SampleStub(channel), IndexingServiceStub(channel)
    assert (await sample.unary(Ask(scope=SCOPE), timeout=LONG)).name == "fine"
    stream = sample.stream(Ask(scope=SCOPE, trace_id="silent:600"), timeout=LONG)
    assert (await stream.read()).name == "first"
    gone = "UNAVAILABLE STAGE_UNAVAILABLE indexing"
    freeze(pid)
    try:
        calls = (
            sample.unary(Ask(scope=SCOPE), timeout=LONG),
            stage.ListCollections(listing, timeout=LONG),  # repeated by gRPC
            stream.read(),
        )
        assert await asyncio.gather(*(ended(call) for call in calls)) == [gone] * 3
        # Not even an attempt to connect may keep the next ones: they are refused by what the last one brought. One
        # is asked for: all calls may have ended with the old connection, a moment before gRPC says that it is gone.
        async with asyncio.timeout(LONG):
            while (state := channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                await channel.wait_for_state_change(state)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await stage.ListCollections(listing, timeout=LONG)
    finally:
        thaw(pid)
    assert (await sample.unary(Ask(scope=SCOPE), timeout=LONG, wait_for_ready=True)).name == "fine"
    await stage.ListCollections(listing, timeout=LONG)


@pytest.mark.full
async def test_calls_that_are_silent_for_longer_than_the_bound_go_on(tmp_path: Path) -> None:
    """A stage whose interpreter is held, so that nothing in it says a word, is alive."""

    async def silent(way: str) -> None:
        (folder := tmp_path / way).mkdir()
        with running(way, folder) as (_, address, settings):
            async with open_channel(address, STAGE, settings) as channel:
                sample = SampleStub(channel)
                stream = sample.stream(Ask(scope=SCOPE, trace_id=f"silent:{2 * BOUND}"), timeout=LONG)
                assert (await stream.read()).name == "first"
                held = await sample.unary(Ask(scope=SCOPE, trace_id=f"hold:{BOUND + 2}"), timeout=LONG)
                assert held.name == "fine"
                assert (await stream.read()).name == "last"
                assert await stream.read() is grpc.aio.EOF

    await asyncio.gather(*map(silent, WAYS))


def test_stages_allow_the_pings_of_services() -> None:
    for peer in ("ingestion", STAGE, "retrieval", "augmentation", "generation", "edge"):
        every = dict(clients.ping_options(peer))["grpc.keepalive_time_ms"]
        allowed = dict(server._options(KitSettings(), peer == "edge"))
        assert 2 * allowed["grpc.http2.min_ping_interval_without_data_ms"] <= every
        assert allowed["grpc.keepalive_permit_without_calls"]


def test_the_call_that_is_repeated_is_one_that_may_be() -> None:
    _, service = contract(STAGE)
    assert changes_nothing(service.methods_by_name["ListCollections"])

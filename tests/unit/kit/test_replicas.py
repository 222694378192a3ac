"""Replicas one by one, and calls that take turns among them."""

import asyncio
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as aug
from footnote.augmentation.v1 import augmentation_service_pb2_grpc as aug_grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_kit.app import App, Runtime, replica_addresses, replica_channels
from footnote_kit.clients import open_channel
from footnote_kit.settings import KitSettings
from footnote_kit.testing import CREDENTIAL, serve_app

SCOPE = Scope(tenant_id="acme", user_id="ann", roles=[ROLE_READER])


class Counting(aug_grpc.AugmentationServiceServicer):
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def PlanQuery(self, request: Any, context: Any) -> aug.PlanQueryResponse:
        self.asked["PlanQuery"] += 1
        return aug.PlanQueryResponse()

    async def BuildPrompt(self, request: Any, context: Any) -> aug.BuildPromptResponse:
        self.asked["BuildPrompt"] += 1
        return aug.BuildPromptResponse()


def app(servicer: Counting) -> App:
    add = aug_grpc.add_AugmentationServiceServicer_to_server
    return App(name="augmentation", servicers=[(add, servicer, "footnote.augmentation.v1.AugmentationService")])


async def test_two_calls_a_question_leave_no_replica_with_one_kind_alone() -> None:
    """In one row of turns the first would be asked to plan 64 times, and the other to build 64 times."""
    counting = [Counting(), Counting()]
    async with serve_app(app(counting[0])) as first, serve_app(app(counting[1])) as second:
        address = f"ipv4:{first.address},{second.address}"
        async with open_channel(address, "augmentation", credential=CREDENTIAL) as channel:
            stub = aug_grpc.AugmentationServiceStub(channel)
            for _ in range(64):
                await stub.PlanQuery(aug.PlanQueryRequest(scope=SCOPE, message="m"))
                await stub.BuildPrompt(aug.BuildPromptRequest(scope=SCOPE, question="q"))
    for one in counting:
        assert min(one.asked["PlanQuery"], one.asked["BuildPrompt"]) >= 12, [one.asked for one in counting]


@pytest.mark.parametrize(
    ("address", "each"),
    [
        ("ipv4:10.0.0.1:7103,10.0.0.2:7103", ["ipv4:10.0.0.1:7103", "ipv4:10.0.0.2:7103"]),
        ("ipv6:[::2]:7103,[::3]:7103", ["ipv6:[::2]:7103", "ipv6:[::3]:7103"]),
        ("127.0.0.1:7103", ["127.0.0.1:7103"]),
        ("localhost:7103", ["localhost:7103"]),
        ("unix:/tmp/a.sock", ["unix:/tmp/a.sock"]),
        ("xds:///retrieval:7103", ["xds:///retrieval:7103"]),
    ],
)
async def test_addresses_that_need_no_looking_up(address: str, each: list[str]) -> None:
    assert await replica_addresses(address) == each


@pytest.mark.parametrize("address", ["footnote-retrieval:7103", "dns:///footnote-retrieval:7103"])
async def test_a_name_stands_for_every_address_that_it_has(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def looked_up(host: str, port: int, **_: Any) -> list[Any]:
        assert (host, port) == ("footnote-retrieval", 7103)
        inet, inet6 = socket.AF_INET, socket.AF_INET6
        return [(inet, 1, 6, "", ("10.0.0.1", port)), (inet, 1, 6, "", ("10.0.0.1", port)),
                (inet6, 1, 6, "", ("fd00::2", port, 0, 0))]  # fmt: skip

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
    assert await replica_addresses(address) == ["ipv4:10.0.0.1:7103", "ipv6:[fd00::2]:7103"]


async def test_each_replica_has_a_channel_and_a_single_one_keeps_its_own(tmp_path: Path) -> None:
    counting = [Counting(), Counting()]
    async with serve_app(app(counting[0])) as first, serve_app(app(counting[1])) as second:
        both = {"augmentation": f"ipv4:{first.address},{second.address}"}
        runtime = Runtime(KitSettings(), tmp_path, both, credential=CREDENTIAL)
        async with replica_channels(runtime, "augmentation") as channels:
            for channel in channels:
                stub = aug_grpc.AugmentationServiceStub(channel)
                await stub.PlanQuery(aug.PlanQueryRequest(scope=SCOPE, message="m"))
        assert [one.asked["PlanQuery"] for one in counting] == [1, 1]
        alone = Runtime(KitSettings(), tmp_path, {"augmentation": first.address}, credential=CREDENTIAL)
        async with replica_channels(alone, "augmentation") as channels:
            assert channels == [alone.channel("augmentation")]
        await asyncio.gather(runtime.close(), alone.close())

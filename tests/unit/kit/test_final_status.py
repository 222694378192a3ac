"""What the caller of an upload hears when it is refused in its middle."""

import asyncio
import collections
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.status import FinalStatus
from footnote_kit.testing import SCOPE, proof_of, serve_app
from support.doubles.services import Answer, Ask, SampleService, SampleStub

ROUNDS, AT_ONCE = 25, 8  # in a few of a hundred calls the refusal comes while a part is being written


async def refuse(requests: AsyncIterator[Ask], _: Any) -> Answer:
    async for _ in requests:
        raise InvalidArgument("Too large", reason="FILE_TOO_LARGE")
    raise AssertionError("nothing came")


async def parts() -> AsyncIterator[Ask]:
    for _ in range(8):
        yield Ask(scope=SCOPE, trace_id="x" * 200_000)


@pytest.mark.slow
async def test_a_refusal_in_the_middle_of_an_upload_is_never_lost() -> None:
    heard: collections.Counter[str] = collections.Counter()
    async with serve_app(SampleService(collect=refuse).app()) as served:
        stub = SampleStub(served.channel)

        async def upload() -> None:
            try:
                await stub.collect(parts())
            except FootnoteError as error:
                heard[error.reason] += 1

        for _ in range(ROUNDS):
            await asyncio.gather(*(upload() for _ in range(AT_ONCE)))
    assert heard == {"FILE_TOO_LARGE": ROUNDS * AT_ONCE}


@pytest.mark.slow
async def test_nor_by_a_plain_client() -> None:
    heard: collections.Counter[str] = collections.Counter()
    async with (
        serve_app(SampleService(collect=refuse).app()) as served,
        grpc.aio.insecure_channel(served.address) as channel,
    ):
        stub = SampleStub(channel)

        async def upload() -> None:
            call = stub.collect(parts(), metadata=(proof_of("sample"),))
            ending = FinalStatus(call)
            try:
                await call
            except grpc.aio.AioRpcError as error:
                heard[str((await ending.of(error)).details())] += 1

        for _ in range(ROUNDS):
            await asyncio.gather(*(upload() for _ in range(AT_ONCE)))
    assert heard == {"Too large": ROUNDS * AT_ONCE}

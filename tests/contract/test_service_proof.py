"""The contract of the proof between services: its vectors, its page, and scopes of later versions on the wire."""

import re
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_kit import context, credential
from footnote_kit.credential import HEADER, ServiceCredential
from footnote_kit.errors import Unauthenticated
from footnote_kit.status import from_rpc_error
from footnote_kit.testing import CREDENTIAL, serve_app
from google.protobuf.unknown_fields import UnknownFieldSet
from support import proof_vectors
from support.doubles.services import Answer, Ask, SampleService, SampleStub
from support.proof_vectors import UNKNOWN, Vector

PAGE = proof_vectors.FILE.with_name("service-proof.md")
READER = Scope(tenant_id="t", user_id="u", roles=[ROLE_READER], groups=["g"])


def test_the_file_of_vectors_is_current() -> None:
    assert proof_vectors.written() == proof_vectors.FILE.read_text(), "run tests/support/proof_vectors.py"


@pytest.mark.parametrize("vector", proof_vectors.read(), ids=lambda vector: vector.name)
def test_a_vector(vector: Vector, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = ServiceCredential(*vector.secrets.split(","))
    monkeypatch.setattr(credential.time, "time", lambda: float(vector.now))
    if vector.result == "accept":
        assert stage.verify(vector.proof, vector.audience, vector.method).hex() == vector.scope
        return
    with pytest.raises(Unauthenticated) as caught:
        stage.verify(vector.proof, vector.audience, vector.method)
    assert caught.value.reason == "SCOPE_INVALID"


def test_no_bit_of_a_proof_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credential.time, "time", lambda: float(proof_vectors.NOW))
    stage, good = ServiceCredential(proof_vectors.OLD), proof_vectors.proof()
    for at, letter in enumerate(good):
        for bit in range(7):
            changed = good[:at] + chr(ord(letter) ^ (1 << bit)) + good[at + 1 :]
            with pytest.raises(Unauthenticated):
                stage.verify(changed, proof_vectors.STAGE, proof_vectors.METHOD)


def test_the_page_shows_the_first_vector_and_every_number() -> None:
    page = PAGE.read_text()
    first = proof_vectors.read()[0]
    assert first.proof in page.replace("\n    ", "")
    exported = ServiceCredential(proof_vectors.OLD).exported()
    assert isinstance(exported["keys"], dict)
    for key_id, key in exported["keys"].items():
        assert key_id in page
        assert key in page
    for number in (credential.CLOCK_SKEW, credential.MAX_LIFETIME, credential.MARGIN, credential.MIN_SECRET):
        assert re.search(rf"\b{number}\b", page), number


def test_signing_and_checking_cost_microseconds() -> None:
    method = "/footnote.R/Retrieve"
    started = time.process_time()
    for _ in range(1000):
        CREDENTIAL.verify(CREDENTIAL.sign("retrieval", method, READER, 60), "retrieval", method)
    assert time.process_time() - started < 1, "a millisecond of processor time each; measured: 20 microseconds"


@asynccontextmanager
async def stage(seen: list[Scope]) -> AsyncIterator[grpc.aio.Channel]:
    """Yield a plain channel to a stage that notes the scope it acts for, in its message and in its context."""

    async def note(request: Ask, _: Any) -> Answer:
        current = context.current_scope()
        assert current is not None
        assert current == request.scope
        seen.append(current)
        return Answer(name="fine")

    async def notes(requests: AsyncIterator[Ask], context: Any) -> Answer:
        async for request in requests:
            return await note(request, context)
        raise AssertionError

    async with (
        serve_app(SampleService(unary=note, collect=notes).app()) as served,
        grpc.aio.insecure_channel(served.address) as channel,
    ):
        yield channel


async def call(channel: grpc.aio.Channel, scope: Scope, proof: str, streams: bool = False) -> str:
    """Return OK or the reason of the refusal."""
    stub, request = SampleStub(channel), Ask(scope=scope)
    metadata = ((HEADER, proof),)
    try:
        if streams:
            await stub.collect(iter([request]), metadata=metadata, timeout=30)
        else:
            await stub.unary(request, metadata=metadata, timeout=30)
    except grpc.aio.AioRpcError as error:
        return str(from_rpc_error(error).reason)
    return "OK"


def sign(scope: Scope | bytes) -> str:
    return CREDENTIAL.sign("sample", "*", scope, 60)


def unknown(scope: Scope) -> list[bytes]:
    return [field.data for field in UnknownFieldSet(scope)]


@pytest.mark.parametrize("streams", [False, True])
async def test_a_field_that_only_a_later_version_has_is_no_obstacle(streams: bool) -> None:
    later = READER.SerializeToString() + UNKNOWN
    seen: list[Scope] = []
    async with stage(seen) as channel:
        for message in (Scope.FromString(later), READER):  # in both, and in the proof alone, as where it was dropped
            assert await call(channel, message, sign(later), streams) == "OK"
            assert unknown(seen.pop()) == [b"new"], "what the proof says is passed on"


async def test_what_is_not_proven_is_not_passed_on() -> None:
    smuggled = Scope.FromString(READER.SerializeToString() + UNKNOWN)
    seen: list[Scope] = []
    async with stage(seen) as channel:
        assert await call(channel, smuggled, sign(READER)) == "OK"
        assert unknown(seen.pop()) == []


async def test_the_bytes_count_as_they_travel() -> None:
    content = READER.SerializeToString()
    first, rest = content[:3], content[3:]
    assert first == b"\x0a\x01t"
    seen: list[Scope] = []
    async with stage(seen) as channel:
        assert await call(channel, READER, sign(rest + first)) == "OK"
        assert seen.pop() == READER
        good = sign(rest + first).split(".")
        good[5] = urlsafe_b64encode(content).rstrip(b"=").decode()
        assert await call(channel, READER, ".".join(good)) == "SCOPE_INVALID"


@pytest.mark.parametrize(
    ("field", "value"),
    [("tenant_id", "other"), ("user_id", "other"), ("roles", [3]), ("roles", []), ("groups", ["g", "h"])],
)
async def test_the_message_must_say_the_same_in_every_field_that_is_known(field: str, value: Any) -> None:
    wrong = Scope()
    wrong.CopyFrom(READER)
    wrong.ClearField(field)  # type: ignore[arg-type]
    wrong.MergeFrom(Scope(**{field: value}))
    seen: list[Scope] = []
    async with stage(seen) as channel:
        assert await call(channel, wrong, sign(READER)) == "SCOPE_INVALID"
        assert await call(channel, READER, sign(wrong)) == "SCOPE_INVALID"
    assert seen == []


async def test_bytes_that_are_no_scope_are_refused() -> None:
    async with stage([]) as channel:
        for nonsense in (b"\xff\xff", b"\x0a\x05ab", b"\x0a\x01\xff"):
            assert await call(channel, READER, sign(nonsense)) == "SCOPE_INVALID"


async def test_neither_a_proof_nor_a_message_with_a_scope_is_told_what_is_missing() -> None:
    async with stage([]) as channel:
        assert await call(channel, Scope(), CREDENTIAL.sign("sample", "*", None, 60)) == "SCOPE_MISSING"


async def test_the_largest_scope_travels() -> None:
    largest = Scope(tenant_id="t" * 128, user_id="u" * 128, roles=[3], groups=[f"{at:0128}" for at in range(200)])
    seen: list[Scope] = []
    async with stage(seen) as channel:
        assert await call(channel, largest, sign(largest)) == "OK"
    assert seen == [largest]

"""Secrets that services share, and the proofs made with them."""

import json
import stat
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_kit import context, secret_file
from footnote_kit.clients import open_channel
from footnote_kit.credential import ServiceCredential, new_secret
from footnote_kit.errors import PermissionDenied, Unauthenticated, Unavailable
from footnote_kit.settings import KitSettings
from footnote_kit.testing import CREDENTIAL, SCOPE, serve_app
from pydantic import ValidationError
from support.doubles.services import Answer, Ask, SampleService, SampleStub

SYSTEM = Scope(tenant_id="system", user_id="edge", roles=[ROLE_SYSTEM])
ASK = Ask(scope=SCOPE)


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


def test_a_secret_is_exchanged_without_a_pause() -> None:
    old, new = new_secret(), new_secret()
    steps = [ServiceCredential(*secrets) for secrets in ((old,), (old, new), (new, old), (new,))]
    for before, after in pairwise(steps):  # while services restart one by one, some are a step ahead
        for signer, verifier in ((before, before), (before, after), (after, before), (after, after)):
            header = signer.sign("a", "/m", SCOPE, 60)
            assert verifier.verify(header, "a", "/m") == SCOPE.SerializeToString()
    with pytest.raises(Unauthenticated):
        steps[3].verify(steps[0].sign("a", "/m", SCOPE, 60), "a", "/m")


def test_a_credential_tells_nobody_its_secret() -> None:
    secret = new_secret()
    one = ServiceCredential(secret)
    header = one.sign("a", "/m", SCOPE, 60)
    settings = KitSettings(service_token=secret)
    for shown in (repr(one), str(one), header, repr(settings)):
        assert secret not in shown
        assert secret[:16] not in shown


def test_a_short_secret_is_refused() -> None:
    for wrong in (("short",), (), (new_secret(), "short")):
        with pytest.raises(ValueError, match="32 characters"):
            ServiceCredential(*wrong)


def test_the_settings_name_one_secret_or_two(tmp_path: Path) -> None:
    old, new = new_secret(), new_secret()
    assert secret_file.configured(KitSettings()) is None
    header = ServiceCredential(old).sign("a", "/m", SCOPE, 60)
    file = tmp_path / "token"
    file.write_text(f"{new}\n{old}\n")
    for settings in (KitSettings(service_token=f"{new},{old}"), KitSettings(service_token_file=file)):
        found = secret_file.configured(settings)
        assert found is not None
        assert not found.local
        assert found.verify(header, "a", "/m")
    for text in ("", f"{new} {old} {new_secret()}"):
        file.write_text(text)
        with pytest.raises(ValueError, match="service token"):
            secret_file.configured(KitSettings(service_token_file=file))
    with pytest.raises(ValidationError, match="exclude each other"):
        KitSettings(service_token=new, service_token_file=file)


def test_processes_of_one_folder_agree_on_a_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: secret_file.shared(tmp_path), range(64)))
    assert len({repr(one) for one in found}) == 1
    assert found[0].local, "good on this machine only"
    file = tmp_path / secret_file.FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    secret_file.shared(tmp_path)
    (tmp_path / secret_file.FILE).chmod(mode)
    with pytest.raises(PermissionError, match="chmod 600"):
        secret_file.shared(tmp_path)


def test_nor_is_one_behind_a_link(tmp_path: Path) -> None:
    secret_file.make(tmp_path / "elsewhere")
    (tmp_path / secret_file.FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        secret_file.shared(tmp_path)


async def test_services_with_different_secrets_do_not_work_together_and_say_so() -> None:
    async with serve_app(SampleService(unary=fine).app("inner")) as inner:
        outer_runtime: list[Any] = []

        async def ask(request: Ask, _: Any) -> Answer:
            return await SampleStub(outer_runtime[0].channel("inner")).unary(request)

        stranger = ServiceCredential.random()
        async with serve_app(
            SampleService(unary=ask).app("outer"), addresses={"inner": inner.address}, credential=stranger
        ) as outer:
            outer_runtime.append(outer.runtime)
            # Not its caller's fault, and over when the operator has set it right: jobs wait for that.
            with pytest.raises(Unavailable, match="same service token") as caught:
                await SampleStub(outer.channel).unary(ASK)
            # Every caller may ask for its health; that does not show that it accepts this caller.
            assert "not from a service of this deployment" in str(await outer.runtime.check("inner"))
    assert caught.value.metadata == {"stage": "inner"}


async def test_nobody_can_make_a_service_act_for_itself() -> None:
    reached: list[str] = []

    async def inner(request: Ask, _: Any) -> Answer:
        reached.append(request.scope.user_id)
        return Answer()

    async with serve_app(SampleService(unary=inner, collect=inner).app("inner")) as second:
        stub = SampleStub(second.channel)

        async def as_system(_: Any, __: Any) -> Answer:
            return await stub.unary(Ask(scope=SYSTEM))

        async def in_the_background(_: Any, __: Any) -> Answer:
            with context.detached("outer", SYSTEM):
                return await stub.unary(Ask(scope=SYSTEM))

        async def streaming(_: Any, __: Any) -> Answer:
            call = stub.collect()
            await call.write(Ask(scope=SYSTEM))
            return await call  # type: ignore[no-any-return]

        for handler in (as_system, streaming):
            async with serve_app(SampleService(unary=handler).app("outer")) as first:
                with pytest.raises(PermissionDenied, match="own scope"):
                    await SampleStub(first.channel).unary(ASK)
                assert reached == []
        async with serve_app(SampleService(unary=as_system).app("outer")) as first:
            await SampleStub(first.channel).unary(Ask(scope=SYSTEM))  # a service asked, so that it may go on
        async with serve_app(SampleService(unary=in_the_background).app("outer")) as first:
            await SampleStub(first.channel).unary(ASK)
    assert reached == ["edge", "edge"]


async def test_a_public_service_takes_nobodys_scope() -> None:
    async with serve_app(SampleService(unary=fine).app("edge", public=True)) as served:
        header = ("x-footnote-proof", CREDENTIAL.sign("edge", "*", SCOPE, 60))
        for metadata in ((), (header,)):
            with pytest.raises(Unauthenticated) as caught:
                await SampleStub(served.channel).unary(ASK, metadata=metadata)
            assert caught.value.reason == "SCOPE_INVALID"


async def test_a_stream_begins_with_the_proof_of_its_first_message() -> None:
    async def name(requests: Any, _: Any) -> Answer:
        return Answer(name=" ".join([request.trace_id async for request in requests]))

    async with serve_app(SampleService(collect=name, both=None).app()) as served:
        stub = SampleStub(served.channel)
        assert (await stub.collect([ASK, Ask(trace_id="b")])).name == " b"
        left = stub.collect(iter([ASK]))
        assert not left.done()
        assert left.time_remaining() > 0
        assert left.cancel()
        assert left.cancelled()
        late = stub.collect(timeout=0.2)
        with pytest.raises(Exception, match="before its first request"):
            await late


def test_an_exported_one_is_the_same_in_another_process() -> None:
    launch = ServiceCredential.random()
    both = launch.accepting(ServiceCredential("c" * 32))
    same = ServiceCredential.imported(json.loads(json.dumps(both.exported())))
    assert same.local is both.local is True
    for signs, believes in ((both, same), (same, both), (same, launch), (ServiceCredential("c" * 32), same)):
        header = signs.sign("indexing", "/p.S/M", None, 10)
        assert believes.verify(header, "indexing", "/p.S/M") == b""


async def test_running_services_exchange_their_secret_without_refusing_a_call() -> None:
    """A rolling restart at each step: stages and callers of neighbouring steps meet, and no call is refused."""

    async def collect(requests: Any, _: Any) -> Answer:
        return Answer(name=str(len([request async for request in requests])))

    async def stream(_: Ask, __: Any) -> AsyncIterator[Answer]:
        yield Answer(name="1")

    old, new = new_secret(), new_secret()
    steps = [ServiceCredential(*secrets) for secrets in ((old,), (old, new), (new, old), (new,))]
    app = SampleService(unary=fine, collect=collect, stream=stream)
    for before, after in pairwise(steps):
        async with AsyncExitStack() as stack:
            replicas = [
                await stack.enter_async_context(serve_app(app.app(), credential=one)) for one in (before, after)
            ]
            for caller in (before, after):
                for replica in replicas:
                    stub = SampleStub(
                        await stack.enter_async_context(open_channel(replica.address, "sample", credential=caller))
                    )
                    assert (await stub.unary(ASK)).name == "fine"
                    assert (await stub.collect([ASK, ASK])).name == "2"
                    assert [one.name async for one in stub.stream(ASK)] == ["1"]
    async with (
        serve_app(app.app(), credential=steps[3]) as served,
        open_channel(served.address, "sample", credential=steps[0]) as channel,
    ):
        with pytest.raises(Unauthenticated) as caught:
            await SampleStub(channel).unary(ASK)
        assert caught.value.reason == "SCOPE_INVALID"

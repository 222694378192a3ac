"""Certificates replaced on disk serve the next connection: nothing is restarted, no call fails."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from footnote_kit import tls
from footnote_kit.clients import open_channel
from footnote_kit.errors import Unavailable
from footnote_kit.settings import KitSettings
from footnote_kit.testing import CREDENTIAL, SCOPE, serve_app
from support.certificates import Authority, Place
from support.doubles.services import Answer, Ask, SampleService, SampleStub

pytestmark = pytest.mark.slow


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


async def ask(address: str, settings: KitSettings) -> str:
    async with open_channel(address, "sample", settings, CREDENTIAL) as channel:
        return str((await SampleStub(channel).unary(Ask(scope=SCOPE), timeout=20)).name)


def serial(address: str, caller: Place) -> int:
    """Return the number of the certificate that a server shows."""
    context = ssl.create_default_context(cafile=caller.values["tls_ca_file"])
    context.load_cert_chain(caller.values["tls_cert_file"], caller.values["tls_key_file"])
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), 20) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        shown = secured.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def number(place: Place) -> int:
    return x509.load_pem_x509_certificate(place.values["tls_cert_file"].read_bytes()).serial_number


@pytest.mark.parametrize("public", [False, True], ids=["stage", "front proxy"])
async def test_a_server_shows_the_certificate_that_lies_there_now(tmp_path: Path, public: bool) -> None:
    house = Authority(tmp_path, "house")
    server, caller = Place(tmp_path, "server").put(house), Place(tmp_path, "caller").put(house)
    app = SampleService(unary=fine).app()
    name = {"name": "edge", "public": True} if public else {}
    async with serve_app(_named(app, **name), settings=server.settings) as served:
        assert await asyncio.to_thread(serial, served.address, caller) == number(server)
        server.put(house)
        assert await asyncio.to_thread(serial, served.address, caller) == number(server)
        # A half replaced pair is not loaded; the previous one stays in use.
        kept = number(server)
        whole = server.values["tls_key_file"].read_bytes()
        server.values["tls_key_file"].write_bytes(caller.values["tls_key_file"].read_bytes())
        assert await asyncio.to_thread(serial, served.address, caller) == kept
        server.values["tls_key_file"].write_bytes(whole)
        server.values["tls_cert_file"].unlink()
        assert await asyncio.to_thread(serial, served.address, caller) == kept


def _named(app: Any, **values: Any) -> Any:
    for name, value in values.items():
        object.__setattr__(app, name, value)
    return app


async def test_expired_foreign_and_missing_certificates_are_refused(tmp_path: Path) -> None:
    house, other = Authority(tmp_path, "house"), Authority(tmp_path, "other")
    server = Place(tmp_path, "server").put(house)
    async with serve_app(SampleService(unary=fine).app(), settings=server.settings) as served:
        assert await ask(served.address, Place(tmp_path, "good").put(house).settings) == "fine"
        for wrong in (
            Place(tmp_path, "expired").put(house, minutes=-1).settings,
            Place(tmp_path, "foreign").put(other, house).settings,
            KitSettings(tls_ca_file=house.file),
        ):
            with pytest.raises(Unavailable):
                await ask(served.address, wrong)


async def test_authorities_rotate_under_load_without_a_failed_call(tmp_path: Path) -> None:
    """First both authorities are trusted, then the new one's certificates are shown, then the old one is no more."""
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    server, caller = Place(tmp_path, "server").put(old), Place(tmp_path, "caller").put(old)
    late = Place(tmp_path, "late").put(old)
    # Connections are closed every second, so that each step is met by new handshakes.
    settings = server.settings.model_copy(update={"max_connection_age": 1.0})
    done, ended = 0, asyncio.Event()

    async def call(channel: Any) -> None:
        nonlocal done
        stub = SampleStub(channel)
        while not ended.is_set():
            assert (await stub.unary(Ask(scope=SCOPE), timeout=20)).name == "fine"
            done += 1
            await asyncio.sleep(0.005)

    async with serve_app(SampleService(unary=fine).app(), settings=settings) as served:
        async with open_channel(served.address, "sample", caller.settings, CREDENTIAL) as channel:
            callers = [asyncio.create_task(call(channel)) for _ in range(4)]
            for house, trusted in ((old, (old, new)), (new, (old, new)), (new, (new,))):
                for place in (server, caller):
                    place.put(house, *trusted)
                await asyncio.sleep(2.5)
            ended.set()
            await asyncio.gather(*callers)
        assert done > 100
        with pytest.raises(Unavailable):  # whom only the old authority knows is let in no more
            await ask(served.address, late.settings)


async def test_a_channel_connects_with_the_certificate_that_lies_there_now(tmp_path: Path) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    caller, server = Place(tmp_path, "caller").put(old), Place(tmp_path, "server").put(new)
    async with (
        serve_app(SampleService(unary=fine).app(), settings=server.settings) as served,
        open_channel(served.address, "sample", caller.settings, CREDENTIAL) as channel,
    ):
        with pytest.raises(Unavailable):
            await SampleStub(channel).unary(Ask(scope=SCOPE), timeout=20)
        caller.put(new)
        await asyncio.sleep(tls.CHECK_SECONDS)
        assert (await SampleStub(channel).unary(Ask(scope=SCOPE), timeout=20)).name == "fine"

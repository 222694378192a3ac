from pathlib import Path
from typing import Any

import pytest
from footnote_kit.app import App
from footnote_kit.clients import open_channel
from footnote_kit.credential import ServiceCredential
from footnote_kit.errors import Unauthenticated, Unavailable
from footnote_kit.server import ListenError, ServiceHost
from footnote_kit.settings import KitSettings
from footnote_kit.testing import CREDENTIAL, SCOPE, serve_app
from pydantic import ValidationError
from support.certificates import Authority
from support.doubles.services import Answer, Ask, SampleService, SampleStub


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


async def ask(address: str, settings: KitSettings, credential: ServiceCredential | None = CREDENTIAL) -> str:
    async with open_channel(address, "sample", settings, credential) as channel:
        name: str = (await SampleStub(channel).unary(Ask(scope=SCOPE), timeout=60)).name
        return name


async def test_tls_with_a_private_authority(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    settings = KitSettings(tls_ca_file=ours.file, **ours.issue("server"))
    async with serve_app(SampleService(unary=fine).app(), settings=settings) as served:
        assert await ask(served.address, KitSettings(tls_ca_file=ours.file)) == "fine"
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings())
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings(tls_ca_file=Authority(tmp_path, "theirs").file))


async def test_mtls_lets_in_only_whom_the_authority_knows(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    settings = KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **ours.issue("server"))
    async with serve_app(SampleService(unary=fine).app(), settings=settings) as served:
        known = KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **ours.issue("retrieval"))
        assert await ask(served.address, known) == "fine"
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings(tls_ca_file=ours.file))
        foreign = theirs.issue("foreign")
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **foreign))


async def test_certificates_speak_for_services_only_by_the_names_that_are_listed(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    values = {"tls_ca_file": ours.file, "tls_client_auth": True}
    settings = KitSettings(tls_peers=("edge", "retrieval"), **values, **ours.issue("server"))
    edge, stranger = KitSettings(**values, **ours.issue("edge")), KitSettings(**values, **ours.issue("printer"))
    async with serve_app(SampleService(unary=fine).app(), settings=settings, credential=None) as served:
        assert await ask(served.address, edge, None) == "fine"
        with pytest.raises(Unauthenticated, match="FOOTNOTE_TLS_PEERS") as caught:
            await ask(served.address, stranger, None)
        assert caught.value.reason == "SCOPE_INVALID"
    # Where there is a token as well, both are asked for.
    async with serve_app(SampleService(unary=fine).app(), settings=settings) as served:
        assert await ask(served.address, edge) == "fine"
        for wrong, credential in ((edge, None), (stranger, CREDENTIAL)):
            with pytest.raises(Unauthenticated):
                await ask(served.address, wrong, credential)


async def test_mtls_may_listen_beyond_loopback_when_it_knows_its_peers(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    edge = App("edge", [], public=True, authenticates=True)
    for app, peers in ((edge, ()), (App("x", []), ("edge",)), (App("x", []), ())):
        settings = KitSettings(tls_ca_file=ours.file, tls_client_auth=True, tls_peers=peers, **ours.issue("server"))
        host = ServiceHost(app.name, settings)
        host.bind("0.0.0.0", 0)
        if app.public or peers:
            await host.serve(app, "0.0.0.0")
            await host.stop(0)
        else:
            with pytest.raises(ListenError, match="FOOTNOTE_TLS_PEERS"):
                await host.serve(app, "0.0.0.0")


@pytest.mark.parametrize(
    "values",
    [
        {"tls_cert_file": "a"},
        {"tls_key_file": "a"},
        {"tls_client_auth": True},
        {"tls_client_auth": True, "tls_ca_file": "a"},
        {"tls_peers": "edge"},
    ],
)
def test_half_a_tls_configuration_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="tls_"):
        KitSettings(**values)

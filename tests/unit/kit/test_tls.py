from pathlib import Path
from typing import Any

import pytest
from footnote_kit.app import App
from footnote_kit.clients import open_channel
from footnote_kit.errors import Unavailable
from footnote_kit.server import ServiceHost
from footnote_kit.settings import KitSettings
from footnote_kit.testing import SCOPE, serve_app
from pydantic import ValidationError
from support.certificates import Authority
from support.guinea_pigs import Answer, Ask, Guinea, GuineaStub


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


async def ask(address: str, settings: KitSettings) -> str:
    async with open_channel(address, "guinea", settings) as channel:
        name: str = (await GuineaStub(channel).unary(Ask(scope=SCOPE), timeout=60)).name
        return name


async def test_tls_with_a_private_authority(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    settings = KitSettings(tls_ca_file=ours.file, **ours.issue("server"))
    async with serve_app(Guinea(unary=fine).app(), settings=settings) as served:
        assert await ask(served.address, KitSettings(tls_ca_file=ours.file)) == "fine"
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings())
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings(tls_ca_file=Authority(tmp_path, "theirs").file))


async def test_mtls_lets_in_only_whom_the_authority_knows(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    settings = KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **ours.issue("server"))
    async with serve_app(Guinea(unary=fine).app(), settings=settings) as served:
        known = KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **ours.issue("retrieval"))
        assert await ask(served.address, known) == "fine"
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings(tls_ca_file=ours.file))
        foreign = theirs.issue("foreign")
        with pytest.raises(Unavailable):
            await ask(served.address, KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **foreign))


async def test_mtls_may_listen_beyond_loopback(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    host = ServiceHost("x", KitSettings(tls_ca_file=ours.file, tls_client_auth=True, **ours.issue("server")))
    host.bind("0.0.0.0", 0)
    await host.serve(App("x", []), "0.0.0.0")
    await host.stop(0)


@pytest.mark.parametrize(
    "values",
    [
        {"tls_cert_file": "a"},
        {"tls_key_file": "a"},
        {"tls_client_auth": True},
        {"tls_client_auth": True, "tls_ca_file": "a"},
    ],
)
def test_half_a_tls_configuration_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="tls_"):
        KitSettings(**values)

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from footnote_kit.app import App
from footnote_kit.clients import open_channel
from footnote_kit.errors import Unavailable
from footnote_kit.server import ServiceHost
from footnote_kit.settings import KitSettings
from footnote_kit.testing import SCOPE, serve_app
from pydantic import ValidationError
from support.guinea_pigs import Answer, Ask, Guinea, GuineaStub


class Authority:
    """A certificate authority of our own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = folder / f"{name}.pem"
        certificate = self._certificate(self.subject, self.key.public_key(), True)
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def _certificate(self, subject: x509.Name, key: Any, authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def issue(self, name: str) -> dict[str, Path]:
        """Return the settings that point to a new certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate, private = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(self._certificate(subject, key.public_key(), False).public_bytes(Encoding.PEM))
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return {"tls_cert_file": certificate, "tls_key_file": private}


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


async def ask(address: str, settings: KitSettings) -> str:
    async with open_channel(address, "guinea", settings) as channel:
        name: str = (await GuineaStub(channel).unary(Ask(scope=SCOPE), timeout=5)).name
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

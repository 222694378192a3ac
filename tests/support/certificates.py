"""Certificates made on the spot."""

import shutil
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from footnote_kit.settings import KitSettings


class Authority:
    """A certificate authority of our own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = folder / f"{name}.pem"
        certificate = self._certificate(self.subject, self.key.public_key(), True)
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def _certificate(self, subject: x509.Name, key: Any, authority: bool, minutes: float = 60) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(minutes=minutes))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def issue(self, name: str, minutes: float = 60) -> dict[str, Path]:
        """Return the settings that point to a new certificate and its key; one of negative minutes has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate, private = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(self._certificate(subject, key.public_key(), False, minutes).public_bytes(Encoding.PEM))
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return {"tls_cert_file": certificate, "tls_key_file": private}


class Place:
    """Files of one process, replaced as an operator or cert-manager does."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder / name, name
        self.folder.mkdir()
        self.values: dict[str, Any] = {
            "tls_cert_file": self.folder / "tls.crt", "tls_key_file": self.folder / "tls.key",
            "tls_ca_file": self.folder / "ca.crt", "tls_client_auth": True,
        }  # fmt: skip

    def put(self, house: Authority, *trusted: Authority, minutes: float = 60) -> "Place":
        """Replace certificate, key and trusted authorities: by default only `house` is trusted."""
        made = house.issue(self.name, minutes=minutes)
        bundle = b"".join(one.file.read_bytes() for one in trusted or (house,))
        (self.folder / "new").write_bytes(bundle)
        (self.folder / "new").replace(self.values["tls_ca_file"])
        for kind in ("tls_key_file", "tls_cert_file"):
            shutil.move(made[kind], self.values[kind])
        return self

    @property
    def settings(self) -> KitSettings:
        """Return the settings of such a process."""
        return KitSettings(**self.values)

    @property
    def env(self) -> dict[str, str]:
        """Return the same as variables."""
        return {f"FOOTNOTE_{key.upper()}": str(value) for key, value in self.values.items()}

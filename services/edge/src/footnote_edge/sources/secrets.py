"""Secrets of sources, encrypted with the deployment's keys (AES-256-GCM), each bound to its source.

The first key encrypts, every key decrypts. To rotate, put a new key in front; `rekey` re-encrypts older secrets, and
then the old keys can be removed.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from footnote_kit.errors import FailedPrecondition
from footnote_kit.redact import register
from footnote_kit.secret_file import read_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE = 12
_KEY = 32


@dataclass(frozen=True, slots=True)
class Sealed:
    """Encrypted secrets, and the beginning of the hash of their key."""

    data: bytes
    key_id: str


class Vault:
    """Encrypts and decrypts; without a key it refuses."""

    def __init__(self, keys: tuple[bytes, ...] = ()) -> None:
        self._keys = _ciphers(keys) if keys else {}

    @classmethod
    def of(cls, text: str, file: Path | None) -> "Vault":
        """Read keys from a text or a private file, separated by commas or lines: 32 bytes each, in base64.

        ValueError for an invalid key, OSError if the file cannot be read or other users can read it.
        """
        if text and file is not None:
            raise ValueError("give source_key or source_key_file, not both")
        words = (read_private(file) if file is not None else text).replace(",", " ").split()
        keys = []
        for word in words:
            try:
                key = base64.urlsafe_b64decode(word.replace("+", "-").replace("/", "_"))
            except ValueError:
                key = b""
            if len(key) != _KEY:
                raise ValueError("a source key is 32 random bytes in base64: openssl rand -base64 32")
            keys.append(key)
        if file is not None and not keys:
            raise ValueError(f"{file} holds no key")
        register(*words)
        return cls(tuple(keys))

    @property
    def primary(self) -> str:
        """The id of the encrypting key; "" without a key."""
        return next(iter(self._keys), "")

    def seal(self, source_id: str, secrets: Mapping[str, object]) -> Sealed:
        """Encrypt the secrets of a source; raises FailedPrecondition(SOURCE_KEY_MISSING)."""
        if not self._keys:
            raise FailedPrecondition(
                "This deployment has no key to encrypt the secrets of sources.", reason="SOURCE_KEY_MISSING"
            )
        nonce = os.urandom(_NONCE)
        text = json.dumps(secrets).encode()
        return Sealed(nonce + self._keys[self.primary].encrypt(nonce, text, source_id.encode()), self.primary)

    def open(self, source_id: str, sealed: Sealed) -> dict[str, object]:
        """Decrypt the secrets of a source, empty ones without a key; raises FailedPrecondition(SOURCE_KEY_MISSING)."""
        if not sealed.data:
            return {}
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise FailedPrecondition(
                "The key that encrypted the source's secrets is missing: configure it beside the new one, or set the "
                "secrets again.",
                reason="SOURCE_KEY_MISSING",
            )
        from cryptography.exceptions import InvalidTag

        try:
            text = key.decrypt(sealed.data[:_NONCE], sealed.data[_NONCE:], source_id.encode())
        except InvalidTag:
            raise FailedPrecondition(
                "The source's secrets are damaged: set them again.", reason="SOURCE_KEY_MISSING"
            ) from None
        found: dict[str, object] = json.loads(text)
        return found


def _ciphers(keys: tuple[bytes, ...]) -> "dict[str, AESGCM]":
    # Loaded for deployments that have keys: it takes 10 MB.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return {_id_of(key): AESGCM(key) for key in keys}


def _id_of(key: bytes) -> str:
    return hashlib.sha256(b"footnote source key" + key).hexdigest()[:16]

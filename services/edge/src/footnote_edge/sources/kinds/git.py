"""Settings of Git repositories: over HTTPS and SSH, and on the server where the operator allows it."""

import re
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from footnote_edge.sources.patterns import Selecting

PORTS = (22,)
"""SSH's ports below 1024."""
_HOST_KEY = re.compile(r"(ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa) [A-Za-z0-9+/]{32,4000}={0,3}")


class SshPlace:
    """The parts of `ssh://user@host:port/path`; ValueError for an invalid one."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 22
        self.user, self.path = unquote(parts.username or "git"), unquote(parts.path)
        plain = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,100}")
        named = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,252}")
        if parts.scheme != "ssh" or not named.fullmatch(self.host) or parts.password is not None:
            raise ValueError("an address over SSH is ssh://user@host/path, without a password")
        if not plain.fullmatch(self.user) or len(self.path) < 2 or not self.path.isprintable():
            raise ValueError("an address over SSH is ssh://user@host/path, without a password")


def checked_host_key(text: str) -> str:
    """Return a host's public key on one line; ValueError for an invalid one."""
    words = text.split()[:2]
    found = " ".join(words)
    if not _HOST_KEY.fullmatch(found):
        raise ValueError(
            "host_key is a line as 'ssh-ed25519 AAAA…': see ssh-keyscan, and compare it with the host's own"
        )
    return found


class GitSettings(Selecting):
    """Settings of a Git source. `include` and `exclude` match paths, as `docs/*.md`."""

    url: str = Field(
        min_length=1,
        max_length=1000,
        description="https://… or ssh://git@host/… of the repository, or a path of the server.",
    )
    host_key: str = Field(
        default="", max_length=5000, description="Public key of the host, for ssh://: a line as 'ssh-ed25519 AAAA…'."
    )
    branch: str = Field(default="", max_length=200, description="Branch; empty for the one that HEAD names.")
    address: str = Field(
        default="",
        max_length=1000,
        description="Address of a file for footnotes, with {commit} and {path}; known forges need none.",
    )

    @model_validator(mode="after")
    def _reachable(self) -> "GitSettings":
        if self.url.startswith("ssh://"):
            SshPlace(self.url)
            checked_host_key(self.host_key)
            return self
        if self.host_key:
            raise ValueError("host_key is for addresses that begin with ssh://")
        if "@" in self.url.partition("://")[2].partition("/")[0]:
            # Settings are stored and shown as they are.
            raise ValueError("url must not hold a user or password: give them as secrets")
        return self


class GitSecrets(BaseModel):
    """Credentials of a reader."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    username: str = Field(default="", max_length=200, description="User name; a token needs none at most forges.")
    password: str = Field(default="", max_length=1000, description="Password or token.")
    private_key: str = Field(
        default="", max_length=20_000, description="Private key of OpenSSH without a passphrase, for ssh://."
    )

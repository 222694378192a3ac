"""The embedding cache over TLS to a real Redis: which certificates are accepted, and the errors for others."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from footnote_cli.admin import machine
from footnote_cli.admin.deployment import deployment_of
from footnote_indexing.adapters.cache_redis import RedisCache
from footnote_kit.errors import FailedPrecondition
from structlog.testing import capture_logs
from support.certificates import Authority
from support.redis_server import redis_server, why_not

pytestmark = [pytest.mark.full, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
VECTOR = np.asarray([1.0, 2.0], dtype=np.float32)


@dataclass
class Guarded:
    """A server that asks for certificates, and the house that signed its own."""

    url: str
    house: Authority
    foreign: Authority

    def with_tls(self, caller: dict[str, Path] | None, root: Path | None = None) -> str:
        """Return the URL for a caller with this certificate."""
        said = {"ssl_ca_certs": root or self.house.file}
        if caller is not None:
            said |= {"ssl_certfile": caller["tls_cert_file"], "ssl_keyfile": caller["tls_key_file"]}
        return f"{self.url}?{urlencode(said)}"

    def wrong(self, case: str) -> tuple[str, str]:
        """Return a URL that must not do, and what is said of it."""
        return {
            "expired": lambda: (self.with_tls(self.house.issue("expired", minutes=-1)), "refuses this certificate"),
            "foreign": lambda: (self.with_tls(self.foreign.issue("foreign")), "refuses this certificate"),
            "missing": lambda: (self.with_tls(None), "refuses this certificate"),
            "other server": lambda: (
                self.with_tls(self.house.issue("caller"), root=self.foreign.file),
                "is not accepted: self-signed certificate in certificate chain",
            ),
            "other name": lambda: (
                self.with_tls(self.house.issue("caller")).replace("127.0.0.1", "localhost"),
                "is not accepted: Hostname mismatch",
            ),
        }[case]()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A real Redis over TLS, with an authority it trusts and one it does not."""
    folder = tmp_path_factory.mktemp("certificates")
    house, foreign = Authority(folder, "house"), Authority(folder, "elsewhere")
    own = house.issue("server")
    files = {"cert": own["tls_cert_file"], "key": own["tls_key_file"], "ca-cert": house.file}
    with redis_server(files) as server:
        yield Guarded(server.url, house, foreign)


async def test_a_caller_of_the_house_keeps_and_finds(guarded: Guarded) -> None:
    cache = RedisCache(guarded.with_tls(guarded.house.issue("caller")), ttl=60)
    try:
        await cache.put({"k": VECTOR})
        assert (await cache.get(["k"])).keys() == {"k"}
    finally:
        await cache.close()


@pytest.mark.parametrize("case", ["expired", "foreign", "missing", "other server", "other name"])
async def test_who_is_not_trusted_gets_nothing_and_the_log_says_why(guarded: Guarded, case: str) -> None:
    url, said = guarded.wrong(case)
    cache = RedisCache(url, ttl=60)
    try:
        with capture_logs() as logged:
            await cache.put({"k": VECTOR})
            assert not await cache.get(["k"])
        [lost] = [one for one in logged if one["event"] == "embedding_cache_lost"]
        assert said in lost["reason"]
    finally:
        await cache.close()


@pytest.mark.parametrize("case", ["expired", "foreign", "missing", "other server", "other name"])
def test_the_doctor_says_why(guarded: Guarded, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, said = guarded.wrong(case)
    monkeypatch.setenv("FOOTNOTE_INDEXING_CACHE_URL", url)
    [found] = machine.servers(deployment_of(tmp_path))
    assert found.state == "broken"
    assert said in found.found


@pytest.fixture
def hanging_up(guarded: Guarded, tmp_path: Path) -> Iterator[str]:
    """The URL of a server that shakes hands and resets the connection: what a refusal is whose words are lost."""
    own = guarded.house.issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own["tls_cert_file"], own["tls_key_file"])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            while True:
                try:
                    plain, _ = listening.accept()
                except OSError:
                    return
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                with suppress(OSError), context.wrap_socket(plain, server_side=True):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"rediss://127.0.0.1:{port}/0?{urlencode({'ssl_ca_certs': guarded.house.file})}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


async def test_who_hangs_up_without_a_word_is_said_to_refuse(hanging_up: str) -> None:
    cache = RedisCache(hanging_up, ttl=60)
    try:
        with capture_logs() as logged:
            await cache.put({"k": VECTOR})
        assert [one["reason"].rpartition(": ")[2] for one in logged] == ["it hangs up"]
    finally:
        await cache.close()


def test_the_doctor_says_that_it_hangs_up(hanging_up: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_INDEXING_CACHE_URL", hanging_up)
    [found] = machine.servers(deployment_of(tmp_path))
    assert (found.state, found.found.rpartition(": ")[2]) == ("broken", "it hangs up")


def test_the_doctor_finds_nothing_where_all_is_right(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_INDEXING_CACHE_URL", guarded.with_tls(guarded.house.issue("caller")))
    [found] = machine.servers(deployment_of(tmp_path))
    assert found.state == "ok"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("rediss://cache:6379/0?ssl_ca_certs=/nowhere.pem", "No such file"),
        ("redis://cache:6379/0?ssl_ca_certs=/nowhere.pem", "certificates need rediss://"),
        ("rediss://cache:6379/0?ssl_cert_reqs=perhaps", "perhaps"),
        ("http://cache:6379/0", "scheme"),
    ],
)
def test_what_would_have_no_effect_is_refused_at_the_start(url: str, said: str) -> None:
    with pytest.raises(FailedPrecondition, match=f"FOOTNOTE_INDEXING_CACHE_URL is no good: .*{said}"):
        RedisCache(url, ttl=60)

"""TLS to a vector store that asks for certificates: which are accepted, and the errors for others."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.stores import rows
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_store import tls
from footnote_store.store import VectorStore
from support.certificates import Authority
from support.doubles.tls_front import tls_front
from support.engine import running_engine

pytestmark = pytest.mark.full


@dataclass
class Guarded:
    """A store that asks for certificates, and the house that signed its own."""

    port: int
    house: Authority
    foreign: Authority

    def uri(
        self, caller: dict[str, Path] | None, root: Path | None = None, host: str = "127.0.0.1", **more: str
    ) -> str:
        """Return the address for a caller with this certificate."""
        said = {"ca_pem_path": str(root or self.house.file), **more}
        if caller is not None:
            said |= {"client_pem_path": str(caller["tls_cert_file"]), "client_key_path": str(caller["tls_key_file"])}
        return f"https://{host}:{self.port}?{urlencode(said)}"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a vector engine for this module."""
    with running_engine(tmp_path_factory.mktemp("engine")) as uri:
        yield Path(uri.removeprefix("unix:"))


@pytest.fixture
async def guarded(engine: Path, tmp_path: Path) -> AsyncIterator[Guarded]:
    """TLS in front of the engine, with an authority it trusts and one it does not."""
    house, foreign = Authority(tmp_path, "house"), Authority(tmp_path, "elsewhere")
    async with tls_front(engine, house.issue("server"), house.file) as port:
        yield Guarded(port, house, foreign)


async def asked(uri: str) -> bool:
    """Connect, and return whether the store is well."""
    store = VectorStore(uri)
    try:
        return bool((await store.health())["healthy"])
    finally:
        await store.close()


async def test_a_caller_of_the_house_is_served(guarded: Guarded) -> None:
    assert await asked(guarded.uri(guarded.house.issue("caller")))


async def test_a_server_that_asks_for_no_certificate_is_believed_by_its_authority(engine: Path, tmp_path: Path) -> None:
    house, foreign = Authority(tmp_path, "house"), Authority(tmp_path, "elsewhere")
    async with tls_front(engine, house.issue("server"), None) as port:
        guarded = Guarded(port, house, foreign)
        assert await asked(guarded.uri(None))
        with pytest.raises(Unavailable, match="its certificate is not accepted"):
            await asked(guarded.uri(None, root=foreign.file))


async def test_a_server_by_another_name_is_not_believed(guarded: Guarded) -> None:
    caller = guarded.house.issue("caller")
    with pytest.raises(Unavailable, match=r"is not accepted: .*localhost.*See ca_pem_path and server_name"):
        await asked(guarded.uri(caller, host="localhost"))
    with pytest.raises(Unavailable, match=r"is not accepted: .*milvus"):
        await asked(guarded.uri(caller, server_name="milvus"))


@pytest.mark.parametrize("caller", ["expired", "foreign", "missing"])
async def test_callers_that_prove_nothing_are_refused_in_a_sentence(guarded: Guarded, caller: str) -> None:
    shown = {
        "expired": lambda: guarded.house.issue("expired", minutes=-1),
        "foreign": lambda: guarded.foreign.issue("foreign"),
        "missing": lambda: None,
    }[caller]()
    with pytest.raises(Unavailable, match="it refuses this certificate, or that there is none"):
        await asked(guarded.uri(shown))


async def test_the_servers_own_word_for_a_refusal_is_passed_on(guarded: Guarded) -> None:
    """Where it says one: the one that stands before these tests' engine hangs up without."""
    own = guarded.house.issue("alerting")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own["tls_cert_file"], own["tls_key_file"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(guarded.house.file)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        told = threading.Event()

        def refuse() -> None:
            accepted, _ = listening.accept()
            with context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False) as wrapped:
                with contextlib.suppress(ssl.SSLError):
                    wrapped.do_handshake()
                told.wait(10)  # who hangs up on words unread takes his own back

        alerting = Guarded(listening.getsockname()[1], guarded.house, guarded.foreign)
        refusing = asyncio.create_task(asyncio.to_thread(refuse))
        with pytest.raises(Unavailable, match="or that there is none: TLSV13_ALERT_CERTIFICATE_REQUIRED"):
            await asked(alerting.uri(None))
        told.set()
        await refusing


async def test_a_server_that_speaks_no_tls_is_told_apart(engine: Path, guarded: Guarded) -> None:
    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        plain = Guarded(server.sockets[0].getsockname()[1], guarded.house, guarded.foreign)
        with pytest.raises(Unavailable, match="Does it speak TLS"):
            await asked(plain.uri(None))


async def test_certificates_that_are_replaced_serve_the_next_call(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {kind: tmp_path / f"mine.{kind}" for kind in ("tls_cert_file", "tls_key_file")}

    def put(made: dict[str, Path]) -> None:
        for kind, path in mine.items():
            shutil.copyfile(made[kind], path)

    monkeypatch.setattr(tls, "CHECK_SECONDS", 0.0)
    put(guarded.house.issue("before"))
    store = VectorStore(guarded.uri(mine))
    try:
        await store.health()
        before = store._client
        put(guarded.foreign.issue("foreign"))
        with pytest.raises(Unavailable, match="refuses this certificate"):
            await store.health()
        put(guarded.house.issue("after"))
        await asyncio.gather(store.health(), store.health())
        assert store._client is not before
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("milvus:19530", "begins with none of https://, http:// and unix:"),
        ("http://milvus:19530?ca_pem_path=/a.pem", "ca_pem_path=… has no effect without https://"),
        ("https://milvus:19530?ca=/a.pem", "does not know ca; there are ca_pem_path, client_pem_path"),
        ("https://milvus:19530?ca_pem_path=", "ca_pem_path is empty"),
        ("https://milvus:19530?ca_pem_path=/a.pem&client_pem_path=/b.pem", "belong together"),
        ("https://milvus:19530?client_pem_path=/b.pem&client_key_path=/b.key", "no effect without ca_pem_path"),
        ("https://milvus:19530?ca_pem_path=/nowhere.pem", "/nowhere.pem: No such file"),
    ],
)
def test_what_would_have_no_effect_is_refused(uri: str, said: str) -> None:
    with pytest.raises(FailedPrecondition, match=said):
        VectorStore(uri)


async def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "a.pem").write_text, "nonsense")
    with pytest.raises(FailedPrecondition, match=r"a certificate: NO_CERTIFICATE"):
        VectorStore(f"https://milvus:19530?ca_pem_path={tmp_path / 'a.pem'}")


async def test_the_doctor_says_whose_certificate_is_no_good(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(tmp_path.chmod, 0o700)
    for uri, said in (
        (guarded.uri(None), "refuses this certificate"),
        (guarded.uri(guarded.house.issue("caller"), root=guarded.foreign.file), "is not accepted"),
        (guarded.uri(None, root=Path("/nowhere.pem")), "/nowhere.pem: No such file"),
    ):
        monkeypatch.setenv("FOOTNOTE_VECTOR_STORE_URI", uri)
        found = [one async for one in rows(deployment_of(tmp_path))]
        assert [one.state for one in found] == ["broken"]
        assert said in found[0].found
        assert "FOOTNOTE_VECTOR_STORE_URI" in found[0].advice

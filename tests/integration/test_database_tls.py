"""TLS to a real PostgreSQL: which certificates are accepted, and the errors for others."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import psycopg
import pytest
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.stores import databases
from footnote_database.transactions import Database
from footnote_edge.adapters.database import TRAITS
from footnote_kit.errors import FailedPrecondition, Unavailable
from sqlalchemy import URL, make_url, text
from support import postgres
from support.certificates import Authority

pytestmark = [pytest.mark.full, pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))]


@dataclass
class Guarded:
    """A server that asks for certificates, and the house that signed its own."""

    url: str
    house: Authority
    foreign: Authority

    def with_tls(self, caller: dict[str, Path] | None, mode: str = "verify-full", root: Path | None = None) -> URL:
        """Return the URL for a caller with this certificate."""
        query = {"sslmode": mode}
        if mode.startswith("verify"):
            query["sslrootcert"] = str(root or self.house.file)
        if caller is not None:
            caller["tls_key_file"].chmod(0o600)  # the other driver refuses a key that others can read
            query |= {"sslcert": str(caller["tls_cert_file"]), "sslkey": str(caller["tls_key_file"])}
        return make_url(f"{self.url}/postgres").update_query_dict(query)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A PostgreSQL server over TLS, with an authority it trusts and one it does not."""
    folder = tmp_path_factory.mktemp("certificates")
    house, foreign = Authority(folder, "house"), Authority(folder, "elsewhere")
    own = house.issue("server")
    with postgres.server({"cert": own["tls_cert_file"], "key": own["tls_key_file"], "ca": house.file}) as url:
        yield Guarded(url, house, foreign)


@pytest.fixture(autouse=True)
async def hung_up() -> AsyncIterator[None]:
    """Wait for sockets of refused connections: the driver leaves closing them to a later turn of the loop."""
    yield
    open_ones: dict[int, asyncio.Transport] = asyncio.get_running_loop()._transports  # type: ignore[attr-defined]
    async with asyncio.timeout(240):
        while any(transport.get_extra_info("socket").fileno() >= 0 for transport in list(open_ones.values())):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def asked(url: URL) -> bool:
    """Connect, and return whether the connection is encrypted."""
    database = Database(url, TRAITS)
    try:
        async with database.read() as connection:
            found = await connection.execute(text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
            return bool(found.scalar_one())
    finally:
        await database.close()


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
async def test_a_caller_of_the_house_is_served_encrypted(guarded: Guarded, mode: str) -> None:
    assert await asked(guarded.with_tls(guarded.house.issue("caller"), mode))


async def test_the_job_ledgers_driver_means_the_same_by_the_url(guarded: Guarded) -> None:
    """It is another driver, which reads the URL itself."""
    url = guarded.with_tls(guarded.house.issue("caller")).set(drivername="postgresql")
    with await asyncio.to_thread(psycopg.connect, url.render_as_string(hide_password=False)) as connection:
        [(encrypted,)] = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchall()
        assert encrypted


async def test_a_server_of_another_house_is_not_believed(guarded: Guarded) -> None:
    url = guarded.with_tls(guarded.house.issue("caller"), root=guarded.foreign.file)
    with pytest.raises(Unavailable, match=r"The certificate of the PostgreSQL server 127\.0\.0\.1:\d+ is not accepted"):
        await asked(url)


async def test_a_server_by_another_name_is_not_believed(guarded: Guarded) -> None:
    caller = guarded.house.issue("caller")
    with pytest.raises(Unavailable, match=r"is not accepted: .*localhost.*See sslrootcert and the host"):
        await asked(guarded.with_tls(caller).set(host="localhost"))
    assert await asked(guarded.with_tls(caller, "verify-ca").set(host="localhost"))


@pytest.mark.parametrize("caller", ["expired", "foreign", "missing"])
async def test_callers_that_prove_nothing_are_refused_in_a_sentence(guarded: Guarded, caller: str) -> None:
    shown = {
        "expired": lambda: guarded.house.issue("expired", minutes=-1),
        "foreign": lambda: guarded.foreign.issue("foreign"),
        "missing": lambda: None,
    }[caller]()
    with pytest.raises(Unavailable, match=r"The PostgreSQL server .* refuses this certificate, .*sslcert in its URL"):
        await asked(guarded.with_tls(shown))


async def test_a_certificate_that_is_replaced_serves_the_next_connection(guarded: Guarded, tmp_path: Path) -> None:
    mine = {kind: tmp_path / f"mine.{kind}" for kind in ("tls_cert_file", "tls_key_file")}

    def put(made: dict[str, Path]) -> None:
        for kind, path in mine.items():
            shutil.copyfile(made[kind], path)

    put(guarded.foreign.issue("before"))
    database = Database(guarded.with_tls(mine), TRAITS)
    try:
        with pytest.raises(Unavailable):
            async with database.read():
                pass
        put(guarded.house.issue("after"))
        async with database.read() as connection:
            assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1
    finally:
        await database.close()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("sslmode=verify-full", "needs sslrootcert"),
        ("sslmode=sure", "needs sslmode to be one of"),
        ("sslrootcert=/a.pem", "needs sslmode to be one of"),
        ("sslmode=require&sslrootcert=/a.pem", "has no effect with sslmode=require"),
        ("sslmode=require&sslcert=/a.pem", "belong together"),
        ("sslmode=prefer&sslcert=/a.pem&sslkey=/a.key", "may have no effect with sslmode=prefer"),
        ("sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem: No such file"),
    ],
)
def test_what_would_have_no_effect_is_refused(query: str, said: str) -> None:
    with pytest.raises(FailedPrecondition, match=said):
        Database(make_url(f"postgresql://ann@db/footnote?{query}"), TRAITS)


async def test_the_doctor_says_whose_certificate_is_no_good(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(tmp_path.chmod, 0o700)
    for url, said in (
        (guarded.with_tls(None), "refuses"),
        (guarded.with_tls(guarded.house.issue("caller"), root=guarded.foreign.file), "is not accepted"),
        (guarded.with_tls(None, root=Path("/nowhere.pem")), "/nowhere.pem: No such file"),
    ):
        monkeypatch.setenv("FOOTNOTE_INGESTION_DATABASE_URL", url.render_as_string(hide_password=False))
        found = [one async for one in databases(deployment_of(tmp_path)) if one.check == "documents database"]
        assert [one.state for one in found] == ["broken"]
        assert said in found[0].found
        assert "FOOTNOTE_INGESTION_DATABASE_URL" in found[0].advice


async def test_nobody_is_served_without_tls(guarded: Guarded) -> None:
    """The server of these tests is one that refuses: what passes above passes for what it shows."""
    with pytest.raises(asyncpg.PostgresError, match="no encryption"):
        await asyncpg.connect(f"{guarded.url}/postgres", ssl=False)

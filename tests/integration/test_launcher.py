"""The launcher as a process: start, addresses, locks, refusals, graceful stop. The services are empty doubles."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from footnote_kit.clients import check_health, check_trust, open_channel
from footnote_kit.credential import ServiceCredential
from footnote_kit.net import is_loopback
from footnote_kit.secret_file import shared
from footnote_kit.settings import DEFAULT_PORTS, KitSettings
from support import starting
from support.base_environment import inherited
from support.deployment import PART
from support.starting import Started

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "support.doubles.launcher"
SECONDS = 60
PAUSE = 0.01


class Division:
    """Into how many processes a whole deployment is divided."""

    processes = "1"


@pytest.fixture(params=["1", "3"])
def divided(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Have the test run with all services in one process, and in several."""
    monkeypatch.setattr(Division, "processes", request.param)
    return int(request.param)


class Process:
    """A serving process under test."""

    def __init__(self, process: Started | subprocess.Popen[bytes], folder: Path, output: Path, log: Path) -> None:
        self.process = process
        self.folder = folder
        self._output, self._log = output, log

    async def line(self) -> str:
        """Return its first line on stdout."""
        await self._until(lambda: self._output.read_text().endswith("\n"))
        return self._output.read_text().partition("\n")[0]

    async def logged(self, word: str) -> None:
        """Wait until a word is on stderr."""
        await self._until(lambda: word in self._log.read_text())

    async def end(self) -> tuple[int, str]:
        """Wait for its end; return exit code and stderr."""
        await self._until(lambda: False)
        assert self.process.returncode is not None
        return self.process.returncode, self._log.read_text()

    async def _until(self, seen: Callable[[], bool]) -> None:
        """Wait until something is seen or the process has ended."""
        async with asyncio.timeout(SECONDS):
            while self.process.poll() is None and not seen():  # noqa: ASYNC110
                await asyncio.sleep(PAUSE)

    def addresses(self) -> dict[str, str]:
        """Return what it wrote into its folder."""
        found: dict[str, str] = json.loads((self.folder / "addresses.json").read_text())
        return found


@asynccontextmanager
async def serving(
    folder: Path, target: str, env: dict[str, str] | None = None, *, fresh: bool = False, **options: Any
) -> AsyncIterator[Process]:
    """Serve until the block ends: as a fork, which has loaded the code already, or as a fresh interpreter."""
    arguments = repr({"target": target, "data_dir": None, "port_base": 0, **options})
    # A Milvus address keeps the embedded engine, which has tests of its own, out of it.
    environment = {
        **inherited(),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path]),
        "FOOTNOTE_VECTOR_STORE_URI": "http://127.0.0.1:1",
        "FOOTNOTE_DATA_DIR": str(folder),
        "FOOTNOTE_PROCESSES": Division.processes,
        **(env or {}),
    }
    with TemporaryDirectory() as said:
        output, log = Path(said) / "stdout", Path(said) / "stderr"
        with output.open("wb") as stdout, log.open("wb") as stderr:
            process: Started | subprocess.Popen[bytes]
            if fresh:
                command = [sys.executable, "-c", f"from {PROGRAM} import run; run()", arguments]
                process = subprocess.Popen(  # noqa: ASYNC220
                    command, stdout=stdout, stderr=stderr, env=environment
                )
            else:
                process = starting.shared().start([arguments], environment, log, output=output, program=PROGRAM)
        try:
            yield Process(process, folder, output, log)
        finally:
            if process.poll() is None:
                process.kill()
            await asyncio.to_thread(process.wait)


async def health(address: str, stage: str) -> str | None:
    async with open_channel(address, stage, KitSettings()) as channel:
        return await check_health(channel, stage)


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
async def test_a_whole_deployment_from_start_to_end(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, "all", fresh=name == "SIGTERM") as all_of_it:
        line = await all_of_it.line()
        assert line.startswith("footnote is ready: ")
        addresses = all_of_it.addresses()
        assert set(addresses) == set(DEFAULT_PORTS)
        for stage, address in addresses.items():
            assert address in line
            assert await health(address, stage) is None
        all_of_it.process.send_signal(getattr(signal, name))
        all_of_it.process.send_signal(signal.SIGTERM)  # as `timeout` and `make` do
        all_of_it.process.send_signal(signal.SIGINT)
        code, error = await all_of_it.end()
        assert code == 0, error
        assert "Traceback" not in error
    assert not (tmp_path / "addresses.json").exists()


async def test_six_processes_share_a_folder_and_its_addresses(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, "retrieval") as retrieval,
        serving(tmp_path, "augmentation,generation") as two,
    ):
        assert (await retrieval.line()).startswith("footnote is listening: retrieval ")
        assert (await two.line()).startswith("footnote is ready: augmentation ")
        assert set(two.addresses()) == {"retrieval", "augmentation", "generation"}
        two.process.terminate()
        assert (await two.end())[0] == 0
        assert set(retrieval.addresses()) == {"retrieval"}


async def trusted(address: str, stage: str, credential: ServiceCredential | None) -> bool:
    """Return whether a stage trusts a caller; else it answers SCOPE_INVALID."""
    async with open_channel(address, stage, KitSettings(), credential) as channel:
        problem = await check_trust(channel)
    assert problem is None or "proof" in problem, problem
    return problem is None


async def test_services_apart_know_one_another_by_the_secret_in_their_folder(tmp_path: Path) -> None:
    async with serving(tmp_path, "retrieval") as one, serving(tmp_path, "augmentation,generation") as two:
        await one.line()
        await two.line()
        assert stat.S_IMODE((tmp_path / "service.token").stat().st_mode) == 0o600
        for stage, address in two.addresses().items():
            assert await trusted(address, stage, shared(tmp_path))
            for stranger in (None, ServiceCredential.random()):
                assert not await trusted(address, stage, stranger)


@pytest.mark.usefixtures("divided")
async def test_a_whole_deployment_keeps_the_secret_of_its_launch_to_itself(tmp_path: Path) -> None:
    configured = ServiceCredential("c" * 32)
    for env, believed in (({}, False), ({"FOOTNOTE_SERVICE_TOKEN": "c" * 32}, True)):
        async with serving(tmp_path, "all", env) as process:
            await process.line()
            assert not (tmp_path / "service.token").exists()
            for stage, address in process.addresses().items():
                if stage == "edge":
                    continue
                for stranger in (None, ServiceCredential.random(), shared(tmp_path / "elsewhere")):
                    assert not await trusted(address, stage, stranger)
                assert await trusted(address, stage, configured) is believed
                assert await health(address, stage) is None, "health is told to everybody"


async def test_a_stage_with_a_token_listens_beyond_loopback(tmp_path: Path) -> None:
    env = {"FOOTNOTE_LISTEN_HOST": "0.0.0.0", "FOOTNOTE_SERVICE_TOKEN": f"{'n' * 32},{'o' * 32}"}
    async with serving(tmp_path, "augmentation", env) as process:
        await process.line()
        address = process.addresses()["augmentation"]
        for letter, believed in (("n", True), ("o", True), ("x", False)):
            assert await trusted(address, "augmentation", ServiceCredential(letter * 32)) is believed
    assert not (tmp_path / "service.token").exists()


@pytest.mark.usefixtures("divided")
async def test_a_second_one_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, "all") as first:
        await first.line()
        before = first.addresses()
        for target in ("all", "ingestion"):
            async with serving(tmp_path, target) as second:
                code, error = await second.end()
            assert code == 1
            assert f"process {first.process.pid} serves" in error
            assert "--data-dir" in error
            assert "Traceback" not in error
        assert first.addresses() == before
        first.process.kill()
        await first.end()
    # The kernel frees what a killed process held, and what it left behind is not believed.
    (tmp_path / "addresses.json").write_text('{"http": "127.0.0.1:1", "edge": "127.0.0.1:2"}')
    async with serving(tmp_path, "all") as third:
        assert "is ready" in await third.line()
        assert set(third.addresses()) == set(DEFAULT_PORTS)
        assert third.addresses()["edge"] != "127.0.0.1:2"


async def test_a_taken_port_ends_it_with_a_message(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        # A fresh one: what silences gRPC's core is read when gRPC is loaded.
        async with serving(tmp_path, "retrieval", fresh=True, port=taken.getsockname()[1]) as process:
            code, error = await process.end()
    assert code == 1
    assert "retrieval cannot listen on 127.0.0.1" in error
    assert "--port-base" in error
    assert "Error in bind" not in error, "gRPC's core speaks to nobody"
    assert not (tmp_path / "addresses.json").exists()


@pytest.mark.parametrize(
    ("env", "options", "message"),
    [
        ({"BUILD_indexing": "build_broken"}, {}, "indexing did not start: The index is on another planet"),
        ({"BUILD_edge": "build_unforeseen"}, {}, "edge did not start: secret plan"),
        ({"FOOTNOTE_GRACE_SECONDS": "-1"}, {}, "FOOTNOTE_GRACE_SECONDS: Input should be greater than or equal to 0"),
        ({"FOOTNOTE_TLS_KEY_FILE": "b.pem"}, {}, "tls_cert_file and tls_key_file belong together"),
        ({"BUILD_edge": "build_misconfigured"}, {}, "edge did not start: FOOTNOTE_EDGE_WORKERS: Input should be"),
        ({"FOOTNOTE_DATA_DIR": "/dev/null/data"}, {}, "/dev/null/data cannot be the data folder: Not a directory"),
        ({}, {"target": "nonsense"}, "There is no target 'nonsense'; there are all, store, ingestion"),
        ({"FOOTNOTE_PROCESSES": "0"}, {}, "FOOTNOTE_PROCESSES: Input should be 'auto', '1'"),
        ({}, {"processes": "2", "target": "retrieval"}, "--processes is for all services together"),
        ({}, {"port": 7000}, "--port is for a target of one service"),
        ({"FOOTNOTE_LISTEN_HOST": "0.0.0.0"}, {}, "does not authenticate its callers"),
        ({"FOOTNOTE_LISTEN_HOST": "0.0.0.0"}, {"target": "retrieval"}, "FOOTNOTE_SERVICE_TOKEN"),
        (
            {"FOOTNOTE_LISTEN_HOST": "0.0.0.0"},
            {"target": "retrieval,indexing"},
            "could not authenticate the other services on 0.0.0.0",
        ),
        ({"FOOTNOTE_SERVICE_TOKEN": "tooshort"}, {}, "at least 32 characters"),
        ({"FOOTNOTE_SERVICE_TOKEN_FILE": "/nowhere/token"}, {}, "No such file"),
        ({"FOOTNOTE_TLS_PEERS": "edge"}, {}, "tls_peers needs tls_client_auth"),
        ({"FOOTNOTE_TLS_CERT_FILE": "/nowhere/a.pem", "FOOTNOTE_TLS_KEY_FILE": "/nowhere/b.pem"}, {}, "No such file"),
    ],
)  # fmt: skip
async def test_what_cannot_start_says_why_and_fails(
    tmp_path: Path, env: dict[str, str], options: dict[str, Any], message: str
) -> None:
    target = options.get("target", "all")
    options = {name: value for name, value in options.items() if name != "target"}
    for processes in ("1",) if target != "all" else ("1", "3"):
        async with serving(tmp_path, target, {"FOOTNOTE_PROCESSES": processes, **env}, **options) as process:
            code, error = await process.end()
        assert code == 1
        assert message in error
        assert not (tmp_path / "addresses.json").exists()


@pytest.mark.usefixtures("divided")
async def test_a_service_that_is_not_ready_is_named_and_serving_goes_on(tmp_path: Path) -> None:
    env = {"BUILD_retrieval": "build_never_ready", "FOOTNOTE_READY_TIMEOUT": "4"}
    async with serving(tmp_path, "all", env) as process:
        assert (await process.line()).startswith("footnote is listening: ")
        addresses = process.addresses()
        assert await health(addresses["retrieval"], "retrieval") == "The retrieval service is not ready"
        assert await health(addresses["generation"], "generation") is None
        process.process.terminate()
        code, error = await process.end()
    assert code == 0
    assert "retrieval is not ready yet: waiting for Godot" in error


@pytest.mark.usefixtures("divided")
async def test_beyond_loopback_only_edge_can_be_reached(tmp_path: Path) -> None:
    env = {"BUILD_edge": "build_known_callers", "FOOTNOTE_LISTEN_HOST": "0.0.0.0"}
    async with serving(tmp_path, "all", env) as process:
        await process.line()
        edge = process.addresses()["edge"]
        listening = [
            (one.laddr.ip.removeprefix("::ffff:"), one.laddr.port)
            for part in family(process.process.pid)
            for one in part.net_connections("tcp")
            if one.status == psutil.CONN_LISTEN
        ]
    assert {port for host, port in listening if not is_loopback(host)} == {int(edge.rpartition(":")[2])}
    assert len({port for _, port in listening}) == len(DEFAULT_PORTS)


@pytest.mark.usefixtures("divided")
async def test_a_signal_during_the_start_ends_it_too(tmp_path: Path) -> None:
    env = {"BUILD_retrieval": "build_never_ready"}
    async with serving(tmp_path, "all", env) as process:
        await process.logged("service_not_ready")
        process.process.terminate()
        code, _ = await process.end()
    assert code == 0


async def test_a_part_that_dies_comes_back_where_it_was(tmp_path: Path) -> None:
    async with serving(tmp_path, "all", {"FOOTNOTE_PROCESSES": "3"}) as process:
        await process.line()
        addresses = process.addresses()
        parts = [one for one in family(process.process.pid)[1:] if one.name() == PART]
        assert len(parts) == 2
        for part in parts:
            part.kill()
        for stage, address in addresses.items():
            for _ in range(600):
                if await health(address, stage) is None:
                    break
                await asyncio.sleep(0.1)
            assert await health(address, stage) is None
        assert process.addresses() == addresses
        again = [one for one in family(process.process.pid)[1:] if one.name() == PART]
        assert len(again) == 2
        assert {one.pid for one in again}.isdisjoint(one.pid for one in parts)
        process.process.terminate()
        code, error = await process.end()
    assert code == 0
    assert error.count("part_ended") == 2
    assert not any(alive(one.pid) for one in again)


async def test_parts_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    async with serving(tmp_path, "all", {"FOOTNOTE_PROCESSES": "6"}) as process:
        await process.line()
        parts = family(process.process.pid)[1:]
        assert len(parts) == 5
        process.process.kill()
        await process.end()
        _, left = await asyncio.to_thread(psutil.wait_procs, parts, 20)
        assert not left


async def test_the_secret_of_a_launch_stands_in_no_argument_and_no_environment(tmp_path: Path) -> None:
    secret = "s3cret" * 8
    env = {"FOOTNOTE_PROCESSES": "3", "FOOTNOTE_SERVICE_TOKEN": secret}
    # A fresh one: what the system shows of a fork is the environment of the process that was forked.
    async with serving(tmp_path, "all", env, fresh=True) as process:
        await process.line()
        for part in family(process.process.pid):
            assert secret not in str(part.environ()) + str(part.cmdline())
        for stage, address in process.addresses().items():
            assert stage == "edge" or await trusted(address, stage, ServiceCredential(secret))


def family(pid: int) -> list[psutil.Process]:
    """Return a process and all that it has started."""
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.usefixtures("divided")
async def test_the_vector_engine_lives_and_ends_with_the_process(tmp_path: Path) -> None:
    env = {"FOOTNOTE_VECTOR_STORE_URI": "", "FOOTNOTE_SERVICE_TOKEN": "s" * 32}
    async with serving(tmp_path, "all", env) as process:
        assert "is ready" in await process.line()
        uri = process.addresses()["store"]
        (engine,) = [child for child in psutil.Process(process.process.pid).children() if "milvus" in child.name()]
        path = Path(uri.removeprefix("unix:"))
        _, writer = await asyncio.open_unix_connection(path)
        writer.close()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700, "nobody else may come near the socket"
        assert "s" * 32 not in str(psutil.Process(engine.pid).environ()), "it has no use for the services' secret"
        assert not [one for one in engine.net_connections("inet") if one.status == psutil.CONN_LISTEN]
        process.process.terminate()
        code, error = await process.end()
        assert code == 0, error
    assert not alive(engine.pid)


async def test_the_vector_engine_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, "engine", {"FOOTNOTE_VECTOR_STORE_URI": ""}) as process:
        line = await process.line()
        assert line.startswith(f"footnote is listening: store unix:{tmp_path}/store/")
        assert set(process.addresses()) == {"store"}
        process.process.terminate()
        assert (await process.end())[0] == 0


async def test_the_vector_engine_on_a_port_says_that_it_is_open(tmp_path: Path) -> None:
    async with serving(tmp_path, "engine", {"FOOTNOTE_VECTOR_STORE_URI": ""}, port=0) as process:
        line = await process.line()
        assert line.startswith("footnote is listening: store http://127.0.0.1:")
        process.process.terminate()
        code, error = await process.end()
    assert code == 0
    assert "vector_engine_open" in error

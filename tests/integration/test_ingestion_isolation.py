"""What a parser that an attacker has taken over can reach: nothing. Tried from inside a worker."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server import NICENESS
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Isolation, Workers
from footnote_ingestion.worker.plan import FILES, NETWORK, PRIVILEGES, PROCESSES, Measures
from footnote_ingestion.worker.pool import Pool
from footnote_kit.errors import FailedPrecondition

pytestmark = pytest.mark.full

FORK_SERVER = "support.hostile_fork_server"
SECONDS = 60.0


class Attacker:
    """Sends commands to workers and returns the results."""

    def __init__(self, pool: Pool, starter: Starter, folder: Path, measures: Measures) -> None:
        self.pool = pool
        self.starter = starter
        self.folder = folder
        self.measures = measures

    async def tries(self, action: str, given: object = None, tenant: str = "attacker") -> dict[str, Any]:
        order = self.folder / f"order-{uuid4().hex}"
        order.write_text(json.dumps({"action": action, "with": given}))
        job = wire.Job("parse", str(order), "hostile", "order.txt", Limits())
        outcome: dict[str, Any] = {}
        async for kind, payload in self.pool.run(job, tenant):
            if kind == wire.BLOCKS:
                outcome = json.loads(next(wire.unpack_blocks(payload)).text)
        assert outcome, "the worker said nothing"
        return outcome

    async def fails(self, action: str, given: object = None) -> None:
        outcome = await self.tries(action, given)
        assert "failed" in outcome, f"{action} {given}: {outcome}"

    def needs(self, kind: str, measure: str = "") -> None:
        """Skip, with the kernel's reason, where a measure is not to be had."""
        active = self.measures.active.get(kind, ())
        if not active or (measure and measure not in active):
            pytest.skip(f"this kernel does not isolate here: {self.measures.text()}")


@pytest.fixture
async def attack(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Return an attacker with workers of the given kind."""
    starter = Starter(FORK_SERVER)
    pools: list[Pool] = []

    async def make(seconds: float = SECONDS, idle_seconds: float = 30.0, **how: Any) -> Attacker:
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        pool = Pool(2, seconds, Workers(2**29, scratch, **how), starter, 100, 100, idle_seconds)
        pools.append(pool)
        return Attacker(pool, starter, tmp_path, await pool.measures())

    yield make
    for pool in pools:
        await pool.close()
    await starter.close()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of another tenant."""
    path = tmp_path / "other-tenant.txt"
    path.write_text("another tenant's file")
    return path


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket on loopback that a worker must not reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


async def test_without_isolation_all_of_it_succeeds(attack: Any, secret: Path, listener: socket.socket) -> None:
    """The attacks of this file work where nothing stops them, so that their failing means something."""
    attacker = await attack(mode="off")
    parent = os.getpid()
    for action, given in (
        ("read", str(secret)),
        ("chmod", str(secret)),
        ("connect", list(listener.getsockname())),
        ("raw_socket", None),
        ("read", f"/proc/{parent}/environ"),
        ("memory", parent),
        ("execute", ["/bin/true"]),
        ("fork", 3),
        ("raise_limit", None),
        ("open_files", 2000),
        ("write", str(secret)),
    ):
        outcome = await attacker.tries(action, given)
        if os.geteuid() != 0 and "failed" in outcome and action in ("read", "memory"):
            continue  # closed by the system itself
        assert "did" in outcome, f"{action} {given}: {outcome}"


async def test_files_of_others_are_out_of_reach(attack: Any, secret: Path) -> None:
    attacker = await attack()
    attacker.needs(FILES)
    await attacker.fails("read", str(secret))
    await attacker.fails("write", str(secret))
    await attacker.fails("write", str(secret.parent / "planted"))
    await attacker.fails("read", "/etc/passwd")
    await attacker.fails("write", "own file")
    assert "did" in await attacker.tries("read", "own file")
    assert "did" in await attacker.tries("temporary")


@pytest.mark.parametrize("name", ["footnote-data", "footnote_data", "notes"])
async def test_the_folder_somebody_stood_in_is_not_readable(
    attack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Python puts the working folder, where the data folder is by default, on its path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / name
    folder.mkdir()
    (folder / "secret").write_text("x")
    attacker = await attack()
    attacker.needs(FILES)
    await attacker.fails("read", str(folder / "secret"))


async def test_mode_of_others_files_stays(attack: Any, secret: Path) -> None:
    attacker = await attack()
    attacker.needs(PROCESSES, "seccomp")
    await attacker.fails("chmod", str(secret))


async def test_no_network(attack: Any, listener: socket.socket, tmp_path: Path) -> None:
    attacker = await attack()
    attacker.needs(NETWORK)
    await attacker.fails("connect", list(listener.getsockname()))
    if "seccomp" in attacker.measures.active[NETWORK]:
        await attacker.fails("raw_socket")
        address = Path(tempfile.mkdtemp()) / "s"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(str(address))
            server.listen()
            await attacker.fails("unix", str(address))
        shutil.rmtree(address.parent)


async def test_workers_for_questions_about_tables_have_what_these_need_before_they_are_forked(attack: Any) -> None:
    """A fork server that has forked readers only has not loaded it."""
    for work in ("parse", "tables"):
        attacker = await attack(work=work)
        for module in ("footnote_ingestion.tables.jobs", "sqlglot", "babel.numbers"):
            assert await attacker.tries("loaded", module) == {"did": str(work == "tables")}


@pytest.mark.parametrize("who", ["service", "fork server"])
async def test_other_processes_are_closed(attack: Any, who: str) -> None:
    attacker = await attack()
    attacker.needs(FILES)
    attacker.needs(PRIVILEGES)
    pid = os.getpid() if who == "service" else attacker.starter.fork_server
    await attacker.fails("read", f"/proc/{pid}/environ")
    await attacker.fails("memory", pid)
    await attacker.fails("trace", pid)
    await attacker.fails("kill", pid)
    assert psutil.pid_exists(pid)


async def test_nothing_is_started_or_forked(attack: Any) -> None:
    attacker = await attack()
    attacker.needs(PROCESSES, "seccomp")
    await attacker.fails("execute", ["/bin/true"])
    await attacker.fails("fork", 1)
    await attacker.fails("new_namespace")
    await attacker.fails("leave_group")


async def test_with_ocr_that_program_alone_is_started(attack: Any) -> None:
    program = shutil.which("true")
    assert program is not None
    attacker = await attack(programs=[program])
    attacker.needs(FILES)
    assert "did" in await attacker.tries("execute", [program])
    for other in ("/bin/sh", sys.executable):
        await attacker.fails("execute", [other, "-c", "true"])
    attacker.needs(PROCESSES, "seccomp")
    await attacker.fails("leave_group")
    await attacker.fails("new_namespace")
    await attacker.fails("raw_socket")


PYTHON = os.path.realpath(sys.executable)


async def test_a_started_program_cannot_reach_the_network(attack: Any, listener: socket.socket) -> None:
    """What a worker starts is shut in as it is."""
    attacker = await attack(programs=[PYTHON])
    attacker.needs(NETWORK, "seccomp")
    code = f"import socket; socket.create_connection({listener.getsockname()!r})"
    await attacker.fails("execute", [PYTHON, "-c", code])
    assert "did" in await attacker.tries("execute", [PYTHON, "-c", "print(1)"])


async def test_forks_are_few_where_programs_are_started(attack: Any) -> None:
    attacker = await attack(programs=["/bin/true"])
    if not any(how.startswith("at most") for how in attacker.measures.active.get(PROCESSES, ())):
        pytest.skip(f"no limit of processes here: {attacker.measures.text()}")
    if os.geteuid() == 0:
        pytest.skip("the kernel does not limit root's processes; FOOTNOTE_INGESTION_WORKER_UID is for that")
    await attacker.fails("fork", 200)


async def test_limits_hold(attack: Any) -> None:
    attacker = await attack()
    await attacker.fails("fill_disk", 256 * 1024 * 1024)
    await attacker.fails("open_files", 2000)
    attacker.needs(PROCESSES, "seccomp")
    await attacker.fails("raise_limit")


async def test_processor_time_ends_although_nobody_watches(attack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends a worker that its supervisor cannot end."""
    from footnote_ingestion.worker import process

    monkeypatch.setattr(process, "_CPU_GRACE_SECONDS", 1)
    monkeypatch.setattr(process.Worker, "_watch", lambda self, seconds: asyncio.sleep(3600))
    attacker = await attack(seconds=1.0)
    with pytest.raises(ParseError):
        await attacker.tries("spin", 3600)  # until the kernel ends it, however little of the processor it gets


async def test_what_a_worker_started_ends_with_it(attack: Any) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    attacker = await attack(seconds=2.0, programs=[sleep])
    marker = f"86{os.getpid()}"
    with pytest.raises(ParseError) as caught:
        await attacker.tries("sleep_outside", [sleep, marker])
    assert caught.value.reason == "TIMEOUT"
    deadline = time.monotonic() + 10
    while any(marker in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < deadline, "the program outlived its worker"
        await asyncio.sleep(0.1)


async def test_environment_holds_no_secret(attack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-parsers")
    monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", "postgresql://u:pw@db/x")
    attacker = await attack()
    seen = json.loads((await attacker.tries("environment"))["did"])
    allowed = {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "TESSDATA_PREFIX"}
    allowed |= {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}
    assert set(seen) <= allowed
    assert seen["HOME"] == seen["TMPDIR"] != os.environ.get("HOME")


async def test_a_worker_never_sees_two_tenants(attack: Any) -> None:
    attacker = await attack()
    held = [(await attacker.tries("remember", "x", tenant))["did"].split() for tenant in ("a", "a", "b", "a", "b")]
    # A worker is reused only for its own tenant.
    assert [count for _, _, count in held] == ["1", "2", "1", "3", "2"]
    assert held[0][0] == held[1][0] == held[3][0] != held[2][0] == held[4][0]


async def test_an_idle_worker_ends(attack: Any) -> None:
    attacker = await attack(idle_seconds=0.2)
    await attacker.tries("environment")
    pids = attacker.pool.pids()
    assert len(pids) == 1
    deadline = time.monotonic() + 20
    scratch = attacker.folder / "scratch"
    while attacker.pool.pids() or psutil.pid_exists(pids[0]) or list(scratch.iterdir()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_searches_go_first(attack: Any) -> None:
    attacker = await attack()
    groups = []
    for tenant in "abcdefgh":  # Linux takes few such wishes in a tenth of a second, and refuses the others
        await attacker.tries("environment", tenant=tenant)
        pid = attacker.pool.pids()[-1]
        assert psutil.Process(pid).nice() == min(psutil.Process().nice() + NICENESS, 19)
        groups.append(group_of(pid))
    assert not any(groups) or any(group.endswith(f"nice {NICENESS}") for group in groups)


def group_of(pid: int) -> str:
    """Return what Linux says of the priority of a process's session, nothing where it groups none."""
    group = Path(f"/proc/{pid}/autogroup")
    return group.read_text().strip() if group.exists() else ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
async def test_workers_have_a_user_of_their_own(attack: Any, secret: Path) -> None:
    uid = 54321
    attacker = await attack(uid=uid)
    assert "did" in await attacker.tries("read", "own file")
    assert "did" in await attacker.tries("temporary")
    await attacker.fails("read", str(secret))
    assert psutil.Process(attacker.pool.pids()[0]).uids().real == uid


async def test_a_user_that_cannot_read_python_is_refused() -> None:
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_INGESTION_WORKER_UID: user 7 cannot read /opt"):
        Isolation("auto").note("reading", Measures({}, {"user 7": "cannot read /opt/python"}))


async def test_required_refuses_a_kernel_that_lacks_something() -> None:
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_INGESTION_ISOLATION"):
        Isolation("required").note("reading", Measures({NETWORK: ["namespace"]}, {"files: landlock": "not there"}))
    auto = Isolation("auto")
    auto.note("reading", Measures({NETWORK: ["namespace"]}, {"files: landlock": "not there"}))
    assert "missing: files: landlock (not there)" in auto.text()


def test_numbers_of_system_calls_are_the_kernels() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.is_file():
        pytest.skip("the kernel's headers are not installed (apt-get install linux-libc-dev)")
    from footnote_ingestion.worker.seccomp import X86_64

    known = {
        line.split()[1].removeprefix("__NR_"): int(line.split()[2])
        for line in header.read_text().splitlines()
        if line.startswith("#define __NR_")
    }
    ours = X86_64.denied | X86_64.start
    ours |= {"seccomp": X86_64.seccomp, "clone": X86_64.clone, "kill": X86_64.kill, "tgkill": X86_64.tgkill}
    ours |= {"prlimit64": X86_64.prlimit}
    assert {name: number for name, number in ours.items() if known.get(name, number) != number} == {}


def test_numbers_of_system_calls_on_arm_are_the_kernels() -> None:
    header = Path("/usr/include/asm-generic/unistd.h")
    if not header.is_file():
        pytest.skip("the kernel's headers are not installed (apt-get install linux-libc-dev)")
    from footnote_ingestion.worker.seccomp import AARCH64

    known = {}
    for line in header.read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[1].startswith("__NR") and words[2].isdigit():
            known[words[1].removeprefix("__NR3264_").removeprefix("__NR_")] = int(words[2])
    ours = AARCH64.denied | AARCH64.start
    ours |= {"seccomp": AARCH64.seccomp, "clone": AARCH64.clone, "kill": AARCH64.kill, "tgkill": AARCH64.tgkill}
    ours |= {"prlimit64": AARCH64.prlimit}
    assert {name: number for name, number in ours.items() if known.get(name, number) != number} == {}


def test_a_worker_ends_with_its_service() -> None:
    code = (
        "import asyncio, tempfile\n"
        "from pathlib import Path\n"
        "from footnote_ingestion.worker.isolation import Workers\n"
        "from footnote_ingestion.worker.process import Worker\n"
        "from footnote_ingestion.worker.fork_server_client import Starter\n"
        "async def main():\n"
        "    folder = Path(tempfile.mkdtemp())\n"
        "    worker = await Worker.start(Starter(), Workers(2**28, folder), 't')\n"
        "    print(worker.pid, folder, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().decode().split()
        worker = psutil.Process(int(pid))
        fork_server = worker.parent()
        parent.kill()
        worker.wait(timeout=60)
        assert fork_server is not None
        fork_server.wait(timeout=60)
    shutil.rmtree(folder)

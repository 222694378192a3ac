"""Permissions on every resource through every interface: generated from the contracts, on a real deployment.

Every RPC, path and tool × caller × target; see `support/access`. Nothing of it is written down here but what is wrong:
a canary of hidden things in an answer, a change of them, a difference between hidden and absent, or a refusal of what
the contracts allow. `-s` prints the table; `FOOTNOTE_MATRIX_OUT` names a file for all of it as JSON.
"""

import asyncio
import base64
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from footnote_kit.edge import METHODS
from support.access import existence
from support.access.crossings import crossings
from support.access.fields import FILLERS, UnknownFields, slots_of
from support.access.matrix import WATCHED, Matrix
from support.access.people import assemble
from support.access.report import Finding, Report, readable
from support.access.wire import Operation, wired
from support.deployment import Deployment, deployment

pytestmark = [pytest.mark.full, pytest.mark.timeout(2700)]

PLENTY = "100000000"
SETTINGS = {
    "FOOTNOTE_EDGE_AUTH": "keys",
    **{f"FOOTNOTE_EDGE_{what}_PER_MINUTE": PLENTY for what in ("REQUESTS", "UPLOADS", "UPLOAD_BYTES", "TOKENS")},
}
ACTORS = (
    "nobody", "reader", "writer", "admin", "owner", "granted read", "granted write", "reader granted write",
    "in group read", "in group write", "namesake in another tenant",
)  # fmt: skip
STRANGERS = ("namesake in another tenant", "reader", "writer")
"""The namesake first: what is added to its tenant for the others would move the counts that it sees."""
RATIO, NOISE = 1.5, 1.25


class Done:
    """A deployment after the matrix was run on it."""

    def __init__(self, running: Deployment, folder: Any) -> None:
        self.running = running
        self.cast = assemble(folder)
        self.folder = folder
        self.kept: dict[str, Any] = {}
        self.report: Report = self.do(self._all)

    def do(self, work: Callable[[Matrix], Awaitable[Any]]) -> Any:
        """Do more on the same deployment, with the same people and things."""

        async def wire_and_do() -> Any:
            async with wired(self.running.address(), self.running.address("http")) as wire:
                matrix = Matrix(wire, self.cast, self.folder)
                matrix.__dict__.update(self.kept)
                if self.kept:
                    matrix.seeder.stub = type(matrix.seeder.stub)(wire.channel)
                return await work(matrix)

        return asyncio.run(wire_and_do())

    async def _all(self, matrix: Matrix) -> Report:
        await matrix.prepare()
        await matrix.run()
        self.kept = {name: getattr(matrix, name) for name in ("plan", "world", "report")}
        return matrix.report


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """A deployment on which the whole matrix has run."""
    folder = tmp_path_factory.mktemp("matrix")
    (folder / WATCHED).mkdir()
    key = base64.b64encode(os.urandom(32)).decode()
    sources = {"FOOTNOTE_EDGE_SOURCE_FOLDERS": str(folder / WATCHED), "FOOTNOTE_EDGE_SOURCE_KEY": key}
    with deployment(folder, env={**SETTINGS, **sources}) as running:
        finished = Done(running, folder)
        print(f"\n{finished.report.table()}")
        yield finished
        if out := os.environ.get("FOOTNOTE_MATRIX_OUT"):
            finished.report.write(out)


def of(done: Done, actor: str, *kinds: str) -> list[Finding]:
    if actor in done.cast.skipped:
        pytest.skip("`footnote keys create` has no --group")
    return done.report.of(*kinds, actor=actor)


def test_every_operation_and_every_field_has_a_place_in_the_matrix(done: Done) -> None:
    assert not done.report.unknown, "\n".join(done.report.unknown)


def test_a_field_that_the_table_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FILLERS, "document_id")
    with pytest.raises(UnknownFields, match=r"gRPC GetDocument: GetDocumentRequest\.document_id"):
        slots_of(Operation("gRPC", "GetDocument", {method.name: method for method in METHODS}["GetDocument"]), {}, {})


@pytest.mark.parametrize("actor", ACTORS)
def test_nothing_hidden_is_read(done: Done, actor: str) -> None:
    found = of(done, actor, "read")
    assert not found, readable(found)


@pytest.mark.parametrize("actor", ACTORS)
def test_nothing_is_changed_by_those_who_may_not(done: Done, actor: str) -> None:
    found = of(done, actor, "write")
    assert not found, readable(found)


@pytest.mark.parametrize("actor", ACTORS)
def test_what_is_hidden_is_as_if_it_were_not_there(done: Done, actor: str) -> None:
    found = of(done, actor, "existence")
    assert not found, readable(found)


@pytest.mark.parametrize("actor", ACTORS)
def test_what_is_allowed_is_done(done: Done, actor: str) -> None:
    found = of(done, actor, "availability", "fault")
    assert not found, readable(found)


def test_everybody_can_have_what_the_contracts_promise(done: Done) -> None:
    found = [one for one in done.report.of("availability") if not one.actor]
    assert not found, readable(found)


def test_the_matrix_was_run_in_full(done: Done) -> None:
    doors = {door for _, door in done.report.cells}
    assert doors == {"gRPC", "HTTP", "OpenAI", "MCP"}
    assert {actor for actor, _ in done.report.cells} == set(ACTORS) - set(done.cast.skipped)
    assert sum(done.report.cells.values()) > 4000
    assert all(done.report.verdicts[name] > 20 for name in ("hidden", "forbidden", "denied by role", "allowed"))


@pytest.mark.parametrize("actor", STRANGERS)
def test_counts_do_not_move_when_hidden_things_are_added(done: Done, actor: str) -> None:
    found = done.do(lambda matrix: existence.counts(matrix, done.cast.people[actor]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("actor", ["writer", "owner", "namesake in another tenant"])
def test_bytes_of_a_hidden_document_are_no_duplicate(done: Done, actor: str) -> None:
    found = done.do(lambda matrix: existence.duplicates(matrix, done.cast.people[actor]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("actor", ["writer", "reader"])
def test_a_grant_that_is_taken_away_ends_at_once(done: Done, actor: str) -> None:
    found = done.do(lambda matrix: existence.revoked(matrix, done.cast.people[actor]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("actor", ["writer", "owner", "namesake in another tenant"])
def test_what_is_ones_own_is_no_way_to_what_is_hidden(done: Done, actor: str) -> None:
    found = done.do(lambda matrix: crossings(matrix, done.cast.people[actor]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", existence.TIMED)
def test_refusing_the_hidden_takes_as_long_as_refusing_the_absent(done: Done, name: str) -> None:
    person = done.cast.people["writer"]
    for _ in range(3):
        took = done.do(lambda matrix: existence.timing(matrix, person, name))
        noise = max(took["absent"], took["also absent"]) / min(took["absent"], took["also absent"])
        absent = (took["absent"] + took["also absent"]) / 2
        ratio = max(took["hidden"], absent) / min(took["hidden"], absent)
        if ratio < RATIO:
            return
    if noise > NOISE:
        pytest.skip(f"the machine is too busy to tell: {took}")
    raise AssertionError(f"milliseconds: {took}")


def test_secrets_of_sources_are_in_no_file(done: Done) -> None:
    secrets = {one.encode() for target in done.kept["world"].all() for one in target.secrets}
    assert len(secrets) > 10
    whole = {path: path.read_bytes() for path in done.folder.rglob("*") if path.is_file()}
    assert any(b"git.invalid" in content for content in whole.values()), "the sources themselves are kept here"
    assert not {path for path, content in whole.items() if any(one in content for one in secrets)}


@pytest.mark.parametrize("actor", ["reader", "admin"])
def test_no_service_of_the_inside_answers_on_the_public_port(done: Done, actor: str) -> None:
    found = done.do(lambda matrix: existence.other_services(matrix, done.cast.people[actor]))
    assert not found, "\n".join(found)

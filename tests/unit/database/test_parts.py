"""Parts of an installation that are missing or another's are refused, and only those that were ever begun."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from footnote_database.parts import NAME, Part, Parts
from footnote_database.transactions import Database
from footnote_edge.adapters.database import TRAITS
from footnote_kit.errors import FailedPrecondition
from sqlalchemy import make_url
from support import postgres

EDGE = Part("edge", "conversations")
OTHER = Part("other", "other things")


def made(folder: Path, *parts: Part) -> Path:
    """Begin parts of a data folder, each with its file; return the folder."""
    for part in parts:
        file = file_of(folder, part)
        known = Parts(folder)
        known.check_file(part, file)
        known.begin(part)
        bare(file)
        known.note(part, file)
    return folder


def file_of(folder: Path, part: Part) -> Path:
    return folder / part.name / f"{part.name}.db"


def bare(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS facts (text TEXT)")


def check(folder: Path, part: Part, *accepted: str) -> None:
    Parts(folder, accepted).check_file(part, file_of(folder, part))


def test_what_is_there_is_taken_and_looking_changes_nothing(tmp_path: Path) -> None:
    check(tmp_path, EDGE)
    assert not list(tmp_path.iterdir())
    made(tmp_path, EDGE, OTHER)
    before = sorted((path, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())
    for part in (EDGE, OTHER):
        check(tmp_path, part)
    assert before == sorted((path, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("how", ["gone", "emptied", "with its folder"])
def test_a_missing_part_is_refused_with_what_it_held_and_how_to_go_on(tmp_path: Path, how: str) -> None:
    file = file_of(made(tmp_path, EDGE, OTHER), EDGE)
    file.unlink()
    if how == "emptied":
        file.touch()
    if how == "with its folder":
        file.parent.rmdir()
    with pytest.raises(FailedPrecondition) as caught:
        check(tmp_path, EDGE)
    assert caught.value.message == (
        f"The edge database {file} is missing, which held conversations: put back a copy of it, with the services "
        "stopped, or start with --accept edge to go on without what it held."
    )
    check(tmp_path, OTHER)
    check(tmp_path, EDGE, "edge")
    check(tmp_path, EDGE)  # what was accepted once is not asked for again, though the start was broken off
    Parts(tmp_path, ["edge"]).begin(EDGE)
    check(tmp_path, EDGE)


def test_a_part_of_another_installation_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    ours, theirs = made(tmp_path / "ours", EDGE, OTHER), made(tmp_path / "theirs", EDGE, OTHER)
    file_of(theirs, EDGE).rename(file_of(ours, EDGE))
    with pytest.raises(FailedPrecondition, match=r"is of another installation than .*: put back the one that belongs"):
        check(ours, EDGE)
    accepted = Parts(ours, ["edge"])
    accepted.check_file(EDGE, file_of(ours, EDGE))
    accepted.note(EDGE, file_of(ours, EDGE))
    check(ours, EDGE)


def test_a_part_that_was_never_begun_is_made(tmp_path: Path) -> None:
    check(made(tmp_path, EDGE), OTHER)


def test_parts_of_a_release_without_marks_count_as_begun(tmp_path: Path) -> None:
    bare(file_of(tmp_path, EDGE))
    check(tmp_path, EDGE)
    with pytest.raises(FailedPrecondition, match="which held other things"):
        check(tmp_path, OTHER)
    made(tmp_path, EDGE)
    with pytest.raises(FailedPrecondition, match="which held other things"):  # marks of another part change nothing
        check(tmp_path, OTHER)


def test_a_folder_that_lost_its_name_takes_that_of_its_parts(tmp_path: Path) -> None:
    folder, theirs = made(tmp_path / "ours", EDGE, OTHER), made(tmp_path / "theirs", EDGE)
    (folder / NAME).unlink()
    check(folder, EDGE)
    made(folder, EDGE)
    check(folder, OTHER)
    file_of(theirs, EDGE).rename(file_of(folder, OTHER))
    with pytest.raises(FailedPrecondition, match="another installation"):
        check(folder, OTHER)


def test_processes_that_begin_at_once_agree(tmp_path: Path) -> None:
    parts = [Part(f"part{number}", "things") for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda part: made(tmp_path, part), parts))
    assert len({(tmp_path / "parts" / part.name).read_text() for part in parts}) == 1
    for part in parts:
        check(tmp_path, part)
    assert not list(tmp_path.rglob(".*-*"))


async def migrate(url: str, parts: Parts) -> None:
    database = Database(make_url(url), TRAITS)
    try:
        await database.migrate(parts=parts)
    finally:
        await database.close()


async def test_a_database_is_begun_once(tmp_path: Path) -> None:
    file = tmp_path / "edge" / "edge.db"
    for _ in range(2):
        await migrate(f"sqlite:///{file}", Parts(tmp_path))
    for path in file.parent.glob("edge.db*"):
        path.unlink()
    with pytest.raises(FailedPrecondition, match="missing, which held conversations, answers"):
        await migrate(f"sqlite:///{file}", Parts(tmp_path))
    assert not file.exists()
    await migrate(f"sqlite:///{file}", Parts(tmp_path, ["edge"]))
    await migrate(f"sqlite:///{file}", Parts(tmp_path))


async def test_a_database_that_goes_while_it_serves_is_said_to_be_gone(tmp_path: Path) -> None:
    database = Database(make_url(f"sqlite:///{tmp_path / 'edge' / 'edge.db'}"), TRAITS)
    try:
        await database.migrate(parts=Parts(tmp_path))
        assert await database.check() is None
        await asyncio.to_thread((tmp_path / "edge" / "edge.db").unlink)
        assert "is gone: stop the service and put back a copy" in (await database.check() or "")
    finally:
        await database.close()


@pytest.mark.slow
async def test_an_empty_database_of_a_server_is_refused_where_it_was_filled(tmp_path: Path, postgres_url: str) -> None:
    first, second = [await postgres.new_database(postgres_url) for _ in range(2)]
    await migrate(first, Parts(tmp_path))
    await migrate(first, Parts(tmp_path))
    with pytest.raises(FailedPrecondition, match=r"is missing, which held .*put back a dump of it") as caught:
        await migrate(second, Parts(tmp_path))
    assert "postgres:postgres@" not in caught.value.message
    await migrate(second, Parts(tmp_path / "another replica's"))
    await migrate(second, Parts(tmp_path))


@pytest.mark.slow
async def test_the_accepted_loss_of_a_database_on_a_server_is_remembered(tmp_path: Path, postgres_url: str) -> None:
    first, second = [await postgres.new_database(postgres_url) for _ in range(2)]
    await migrate(first, Parts(tmp_path))
    assert not Parts(tmp_path).lacks(TRAITS.part)
    await migrate(second, Parts(tmp_path, [TRAITS.part.name]))
    await migrate(second, Parts(tmp_path))
    assert Parts(tmp_path).lacks(TRAITS.part)

"""A start with missing parts is refused, the doctor says the same, and they are created again only on purpose."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from footnote_cli.main import app
from support.deployment import Deployment, deployment
from support.edge_client import edge_client
from typer.testing import CliRunner

pytestmark = pytest.mark.full

PARTS = {
    "edge": ("edge/edge.db", "edge", "edge"),
    "jobs": ("edge/jobs.db", "jobs", "edge"),
    "documents": ("ingestion/documents.db", "documents", "ingestion"),
    "files": ("ingestion/blobs", "files", "ingestion"),
    "indexing": ("indexing/indexing.db", "indexing", "indexing"),
    "vectors": ("store/vectors.db", "vectors", "store"),
}
WHOLE = {"edge": "edge", "documents": "ingestion", "indexing": "indexing", "vectors": "store"}


async def put(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        await client.put(b"A fact or two.", "facts.txt")


def refused(running: Deployment, target: str) -> str:
    """Start what cannot begin; return what it says."""
    before = len(running.log(target))
    running.spawn(target)
    assert running.processes.pop(target).wait(90) != 0
    said = running.log(target)[before:]
    assert "Traceback" not in said, said
    return said


@pytest.mark.timeout(900)
def test_missing_parts_are_refused_and_said_by_the_doctor(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with deployment(folder) as running:
        asyncio.run(put(running))
    for path in folder.rglob("*-wal"):
        path.unlink()  # after an orderly end they are empty
    running = Deployment(folder, separate=True)
    for part, (place, name, target) in PARTS.items():
        path, aside = folder / place, tmp_path / "aside"
        path.rename(aside)
        said = refused(running, target)
        assert "missing" in said, part
        assert f"--accept {name}" in said, part
        found = json.loads(CliRunner().invoke(app, ["admin", "doctor", "--data-dir", str(folder), "--json"]).stdout)
        broken = [one for one in found["findings"] if one["state"] == "broken"]
        assert any("missing" in one["found"] or "lack their file" in one["found"] for one in broken), (part, broken)
        if path.is_dir():
            shutil.rmtree(path)
        aside.rename(path)
    for part, service in WHOLE.items():  # with their whole folder
        (folder / service).rename(tmp_path / "aside")
        said = refused(Deployment(folder), "all")
        assert f"--accept {part}" in said, said
        shutil.rmtree(folder / service, ignore_errors=True)
        (tmp_path / "aside").rename(folder / service)
    with deployment(folder):  # nothing that was refused has changed anything
        pass
    shutil.rmtree(folder / "edge")
    with deployment(folder, env={"FOOTNOTE_ACCEPT": "edge,jobs"}):
        pass
    with deployment(folder):
        pass

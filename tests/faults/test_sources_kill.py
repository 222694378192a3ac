"""kill -9 at seeded moments while a folder is synchronised: in the end each of its files is a document, once.

Everything is killed, or edge alone, which synchronises: the other services then keep what it began.
"""

import asyncio
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from support import edge_sources as kept
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(1200)]

FILES = 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the source reads."""
    path = tmp_path / "handbooks"
    path.mkdir()
    return path


@pytest.fixture
def running(request: pytest.FixtureRequest, tmp_path: Path, folder: Path) -> Iterator[Deployment]:
    """A deployment that may read the folder and looks at it twice a second; apart where edge is killed alone."""
    env = {"FOOTNOTE_EDGE_SOURCE_FOLDERS": str(folder), "FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS": "0.5"}
    data = tmp_path / "data"
    data.mkdir()
    with deployment(data, separate=request.param, env=env) as started:
        yield started


def change(folder: Path, chance: random.Random, number: int) -> None:
    """Make, change, move and delete files."""
    names = sorted(path.name for path in folder.iterdir())
    for name in chance.sample(names, min(len(names), 3)):
        (folder / name).unlink()
    for name in chance.sample(names, min(len(names), 4)):
        if (folder / name).exists():
            (folder / name).write_text(f"Fact {name} is {number}, changed.\n")
    for name in chance.sample(names, min(len(names), 3)):
        if (folder / name).exists():
            (folder / name).rename(folder / f"moved-{number}-{name}")
    for index in range(FILES - len(list(folder.iterdir()))):
        (folder / f"{number}-{index}.txt").write_text(f"Fact {index} of round {number}.\n")


async def audit(client: EdgeClient, folder: Path) -> None:
    """Compare the documents with the files: each once, each with its bytes, each searchable."""
    wanted = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in await asyncio.to_thread(listed, folder)
    }
    documents = await kept.at_rest(client, "kept")
    assert {one.source.item: one.sha256 for one in documents} == wanted
    assert len(documents) == len(wanted)
    assert {one.state for one in documents} == {DOCUMENT_STATE_INDEXED}
    assert all(one.indexed_revision == one.revision for one in documents)


def listed(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.parametrize(
    ("running", "victims", "seed", "kills"),
    [
        (False, (), 2, 9),
        (True, ("edge",), 3, 18),
    ],
    indirect=["running"],
    ids=["everything", "edge alone"],
)
async def test_a_killed_synchronisation_goes_on(
    running: Deployment, folder: Path, victims: tuple[str, ...], seed: int, kills: int
) -> None:
    chance = random.Random(seed)
    await asyncio.to_thread(change, folder, chance, 0)
    async with edge_client(running.address()) as client:
        await kept.collection(client.stub)
        source = await kept.create(client.stub, "folder", {"path": str(folder)}, paused=True)
    for number in range(1, kills + 1):
        async with edge_client(running.address()) as client:
            await client.stub.SyncSource(kept.pb.SyncSourceRequest(source_id=source.id))
            await asyncio.sleep(chance.uniform(0.0, 1.5))
            await asyncio.to_thread(running.kill, *victims)
        if chance.random() < 0.5:
            await asyncio.to_thread(change, folder, chance, number)
        await asyncio.to_thread(running.start, *victims)
        if number % 3 and number != kills:
            continue  # killed again before it was done
        async with edge_client(running.address()) as client:
            await kept.settled(client.stub, source)
            await kept.sync(client.stub, source)
            await audit(client, folder)

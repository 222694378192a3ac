"""A folder of small files is taken in by the command line while ingestion is killed and begins again."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.errors import Unavailable
from support.base_environment import inherited
from support.deployment import deployment
from support.edge_client import edge_client

FILES = 300

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_folder_is_taken_in_over_restarts_of_ingestion(tmp_path: Path) -> None:
    folder, data = tmp_path / "texts", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_text(f"The watchword of shelf {number} is {number * 7919}.")
    with deployment(data, separate=True) as running:
        own = {"PYTHONPATH": os.pathsep.join(sys.path), "FOOTNOTE_EDGE_ADDRESS": running.address()}
        command = [sys.executable, "-m", "footnote_cli.main", "ingest", str(folder), "--jobs", "2", "--json"]
        with (tmp_path / "shown").open("wb") as shown:
            ingest = subprocess.Popen(command, env={**inherited(), **own}, stdout=shown, stderr=shown)
        for wanted in (1, FILES // 3):
            asyncio.run(_until(running.address(), wanted))
            running.kill("ingestion")
            running.start("ingestion")
        assert ingest.wait(300) == 0, (tmp_path / "shown").read_text()
        documents = asyncio.run(_listed(running.address()))
    assert Counter(one.filename for one in documents) == Counter(f"{number}.txt" for number in range(FILES))
    assert {one.state for one in documents} == {DOCUMENT_STATE_INDEXED}


async def _listed(address: str) -> list[Document]:
    async with edge_client(address) as client:
        while True:
            with suppress(Unavailable):  # ingestion has just begun again
                return await client.documents()
            await asyncio.sleep(0.05)


async def _until(address: str, wanted: int) -> None:
    async with asyncio.timeout(240):
        while len(await _listed(address)) < wanted:  # noqa: ASYNC110 only the service knows
            await asyncio.sleep(0.05)

"""A backup that is taken while uploads go on, restored elsewhere, gives the same documents, answers and footnotes."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from support.base_environment import inherited
from support.deployment import deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow]

SUBJECTS = {
    "heron": "The grey heron stands 94 centimetres tall and eats frogs.",
    "harbour": "The harbour of Elmsund was dredged to 14 metres in 1987.",
    "bakery": "The bakery in Tarn opens at five and sells rye bread.",
}
QUESTIONS = (
    "How tall does the grey heron stand?",
    "How deep was the harbour of Elmsund dredged?",
    "When does the bakery in Tarn open?",
)


def admin(*arguments: str, code: int = 0) -> Any:
    """Run `footnote admin … --json` as an operator would and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "footnote_cli.main", "admin", *arguments, "--json"],
        env={**inherited(), "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr[-3000:]
    return json.loads(done.stdout if code == 0 else done.stderr.splitlines()[-1])


async def told(edge: EdgeClient) -> list[Any]:
    """Answers and their footnotes, without what differs from call to call."""
    found = []
    for question in QUESTIONS:
        answer = (await edge.answer(question)).answer
        cited = [(one.number, one.chunk_id, one.document_id, one.quote) for one in answer.citations]
        found.append((answer.text, cited))
    return found


def test_restored_elsewhere_it_answers_the_same(tmp_path: Path) -> None:
    saved, elsewhere = tmp_path / "saved", tmp_path / "elsewhere"
    (tmp_path / "data").mkdir()
    with deployment(tmp_path / "data") as running:

        async def ask_and_back_up() -> tuple[list[Any], set[str], Any]:
            async with edge_client(running.address()) as edge:
                for name, text in SUBJECTS.items():
                    done = await edge.put(text.encode(), f"{name}.txt")
                    assert done.state == DOCUMENT_STATE_INDEXED
                before = await told(edge)
                whole = asyncio.Event()

                async def go_on() -> None:
                    number = 0
                    while not whole.is_set():
                        text = f"Lamp {number} in the cellar of the mill has a green shade."
                        await edge.put(text.encode(), f"lamp-{number}.txt")
                        number += 1

                uploads = asyncio.create_task(go_on())
                made = await asyncio.to_thread(admin, "backup", str(saved), "--data-dir", str(running.folder))
                whole.set()
                await uploads
                assert await told(edge) == before
                return before, {one.id for one in await edge.documents()}, made

        before, uploaded, made = asyncio.run(ask_and_back_up())

    assert set(made["databases"]) == {"edge", "jobs", "indexing", "documents"}
    assert sum(made["spaces"].values()) >= len(SUBJECTS)
    restored = admin("restore", str(saved), "--data-dir", str(elsewhere))
    assert restored == json.loads((saved / "manifest.json").read_text())

    with deployment(elsewhere) as other:

        async def ask_again() -> None:
            async with edge_client(other.address()) as edge:
                found = await edge.documents()
                for one in found:
                    assert (await edge.settle(one.id)).state == DOCUMENT_STATE_INDEXED, one.filename
                assert {one.id for one in found} <= uploaded
                assert {one.filename for one in found if one.filename.split(".")[0] in SUBJECTS} == {
                    f"{name}.txt" for name in SUBJECTS
                }
                assert await told(edge) == before

        asyncio.run(ask_again())
    damaged = next((saved / "files").rglob("*.*"), None) or saved / "settings.json"
    damaged.write_bytes(damaged.read_bytes() + b"x")
    refusal = admin("restore", str(saved), "--data-dir", str(tmp_path / "third"), code=1)
    assert "is damaged" in refusal["error"]["message"]
    assert not (tmp_path / "third" / "edge").exists()

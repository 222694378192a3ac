"""Files of a local store: nothing is left of one that was given up, or that was being written when the end came."""

import asyncio
import os
from pathlib import Path

import pytest
from footnote_ingestion.adapters.blobs import Blobs
from footnote_kit.errors import FailedPrecondition


def stored(folder: Path) -> list[str]:
    """Return the names of all files below a folder."""
    return [path.name for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    """A local store of files."""
    return Blobs.open("", {}, tmp_path / "blobs", tmp_path)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.slow
async def test_a_file_that_is_given_up_does_not_come_after_it_was_deleted(
    blobs: Blobs, tmp_path: Path, times: int
) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(300_000))
    for number in range(200):
        writing = asyncio.ensure_future(blobs.put(key := f"uploads/a/{number}", source))
        await asyncio.sleep(number * 2e-5)  # from before its start to after its end
        for _ in range(times):
            writing.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([writing])
        await blobs.delete(key)
    await asyncio.sleep(0.5)
    assert stored(tmp_path / "blobs") == []


async def test_a_caller_who_gives_up_is_told_so_even_when_the_store_fails(blobs: Blobs, tmp_path: Path) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    writing = asyncio.ensure_future(blobs.put("uploads/a/file", tmp_path / "is-not-there"))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await asyncio.sleep(0.1)
    assert told == []


@pytest.mark.parametrize("whole", [True, False])
async def test_what_a_killed_process_had_written_goes_with_the_file(blobs: Blobs, tmp_path: Path, whole: bool) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"a file")
    for key in ("uploads/a/file", "uploads/a/file2"):
        await blobs.put(key, source)
    place = tmp_path / "blobs" / "uploads" / "a"
    (place / "file#1").write_bytes(b"a f")  # as the store names it
    (place / "file#2").write_bytes(b"a fi")
    (place / "file2#1").write_bytes(b"")
    if not whole:
        (place / "file").unlink()
    await blobs.delete("uploads/a/file")
    assert sorted(stored(place)) == ["file2", "file2#1"]


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("file:///not/there", {}, "FOOTNOTE_INGESTION_BLOB_URL names no store .*: .*/not/there. Give s3://"),
        ("nope://bucket", {}, "FOOTNOTE_INGESTION_BLOB_URL names no store .*nope://bucket"),
        ("bucket", {}, "FOOTNOTE_INGESTION_BLOB_URL names no store"),
        ("file:///tmp", {"region": "1"}, "FOOTNOTE_INGESTION_BLOB_OPTIONS: a folder has no options; leave out region"),
        ("s3://bucket", {"nonsense": "1"}, "FOOTNOTE_INGESTION_BLOB_OPTIONS: .*'nonsense' is not valid"),
    ],
)
def test_a_store_that_cannot_be_opened_is_said_in_a_sentence(
    tmp_path: Path, url: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(FailedPrecondition, match=said) as caught:
        Blobs.open(url, options, tmp_path / "blobs", tmp_path)
    assert "\n" not in caught.value.message
    assert "Debug" not in caught.value.message

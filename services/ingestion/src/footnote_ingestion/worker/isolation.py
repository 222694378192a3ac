"""Required and actual isolation of workers: reported to operators, and refused if insufficient."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from footnote_kit.errors import FailedPrecondition

from footnote_ingestion.worker.plan import Measures, Plan, Work

Mode = Literal["auto", "required", "off"]


class Isolation:
    """The known isolation of this service's workers."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._found: dict[str, Measures] = {}
        self.ocr_problem = ""
        """Why these workers cannot read scans, which operators see beside their isolation."""

    def note(self, name: str, measures: Measures) -> None:
        """Record the isolation of workers for `name`; raises `FailedPrecondition` if it is less than required."""
        self._found[name] = measures
        for what, why in measures.missing.items():
            if what.startswith("user "):
                raise FailedPrecondition(f"FOOTNOTE_INGESTION_WORKER_UID: {what} {why}; install Footnote where it can")
        lacking = measures.lacking()
        if self._mode == "required" and lacking:
            raise FailedPrecondition(
                f"FOOTNOTE_INGESTION_ISOLATION=required, but parser processes here lack: {', '.join(lacking)} "
                f"({measures.text()}); use a kernel that has it, or FOOTNOTE_INGESTION_ISOLATION=auto"
            )

    def text(self) -> str:
        """Return it in one line, for people; "" while it is unknown."""
        texts = {name: measures.text() for name, measures in self._found.items()}
        if len(set(texts.values())) == 1:
            said = f"Parser processes {next(iter(texts.values()))}"
        else:
            said = "; ".join(f"parser processes for {name} {text}" for name, text in texts.items())
        return f"{said}. {self.ocr_problem}" if said and self.ocr_problem else said


@dataclass(frozen=True, slots=True)
class Workers:
    """How to create workers: their limits, and where their folders are.

    `scratch` must be on a local disk. `uid` 0 keeps our own. `programs` are those that parsers start.
    Those for "inspect" only check files before they are stored, and have no engine for tables; those for "parse" check
    and parse files; those for "tables" also answer questions about kept tables.
    """

    memory_bytes: int
    scratch: Path
    mode: Mode = "auto"
    uid: int = 0
    file_bytes: int = 64 * 1024 * 1024
    programs: Sequence[str] = ()
    work: Work = "parse"

    def plan(self, box: Box) -> Plan:
        """Return the plan of the worker with `box`."""
        isolate = self.mode != "off"
        programs = list(self.programs)
        return Plan(self.memory_bytes, self.file_bytes, str(box.folder), isolate, self.uid, programs, self.work)


def _prefix(scratch: Path) -> str:
    return f"footnote-worker-{scratch.name}-"


def remove_boxes(scratch: Path) -> None:
    """Remove the folders outside `scratch` that workers of a killed process have left; blocks on the disk."""
    for folder in Path(tempfile.gettempdir()).iterdir():
        if folder.name.startswith(_prefix(scratch)):
            shutil.rmtree(folder, ignore_errors=True)


class Box:
    """A worker's own folder: `in` holds the file that it reads, `tmp` temporary files of libraries."""

    def __init__(self, scratch: Path, uid: int) -> None:
        self._uid = uid
        # Another user cannot traverse the data folder, which only we can access.
        self.folder = Path(tempfile.mkdtemp(prefix=_prefix(scratch))) if uid else scratch / f"worker-{uuid4().hex}"
        self.folder.mkdir(mode=0o700, exist_ok=bool(uid))
        for name in ("in", "tmp"):
            (self.folder / name).mkdir(mode=0o700)
        if uid:
            self._share(self.folder)
            self._share(self.folder / "in")
            os.chown(self.folder / "tmp", uid, uid)

    def place(self) -> Path:
        """Return a new path at which the worker may read a file."""
        return self.folder / "in" / uuid4().hex

    async def put(self, path: Path, shown: Path) -> None:
        """Make a file readable at a place; raises `FileNotFoundError`. A thread may write on after a cancellation."""
        if not self._uid:
            with contextlib.suppress(OSError):  # another disk, or one without links
                os.link(path, shown)
                return
        await asyncio.to_thread(self._copy, path, shown)

    async def remove(self) -> None:
        """Remove the folder with its contents."""
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    def _copy(self, path: Path, copy: Path) -> None:
        shutil.copyfile(path, copy)
        if self._uid:
            self._share(copy)

    def _share(self, path: Path) -> None:
        """Give read access to the worker's user only."""
        os.chown(path, 0, self._uid)
        path.chmod(0o750 if path.is_dir() else 0o640)

"""The worker process: runs jobs one at a time, and answers in frames.

Forked by `fork_server`. It enters its sandbox before it reads the first job, and exits at the end of its input, or
with its parent.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from footnote.stages.v1.parsing_pb2 import Block
from footnote_text.language import detect

from footnote_ingestion.parsers import added, parser_for
from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    INTERNAL,
    NO_ROOM,
    NO_TEXT,
    OUT_OF_MEMORY,
    FailureInfo,
    ParseError,
    is_no_room,
)
from footnote_ingestion.parsers.metadata import describe
from footnote_ingestion.parsers.sniff import sniff
from footnote_ingestion.worker import sandbox, wire
from footnote_ingestion.worker.plan import Measures, Plan

if TYPE_CHECKING:  # loaded by `load_engine`
    from footnote_ingestion.tables.session import Session

_SAY_SECONDS = 0.2
_SELDOM = 20_000


class _Frames:
    """Writes frames, with blocks in batches."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._batch: list[bytes] = []
        self._size = 0
        self._said = 0.0
        self._unsaid = b""

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        self._stream.write(wire.HEADER.pack(kind, len(payload)))
        self._stream.write(payload)
        self._stream.flush()

    def block(self, block: Block) -> None:
        data = block.SerializeToString()
        if self._batch and self._size + len(data) > wire.BATCH_BYTES:
            self.flush()
        self._batch.append(data)
        self._size += len(data)
        if len(self._batch) >= wire.BATCH_BLOCKS:
            self.flush()

    def flush(self) -> None:
        if self._batch:
            self.send(wire.BLOCKS, wire.pack_blocks(self._batch))
        self.forget()

    def pages(self, read: int, total: int) -> None:
        """Report how far a file is parsed, a few times a second at most."""
        now = time.monotonic()
        self._unsaid = wire.PAGES_READ.pack(read, total)
        if now - self._said >= _SAY_SECONDS:
            self._said = now
            self._say_pages()

    def end(self, metadata: bytes) -> None:
        """Send the pending blocks, the last page count and the metadata."""
        self.flush()
        self._say_pages()
        self.send(wire.METADATA, metadata)

    def _say_pages(self) -> None:
        if self._unsaid:
            self.send(wire.PAGES, self._unsaid)
            self._unsaid = b""

    def begin(self) -> None:
        """Start a new file: its first page is reported at once, even soon after another file's report."""
        self.forget()
        self._said, self._unsaid = 0.0, b""

    def forget(self) -> None:
        self._batch, self._size = [], 0


def run(job: wire.Job, frames: _Frames, session: Session | None) -> None:
    """Run one job; every failure becomes a frame. Only checks need no session."""
    frames.begin()
    try:
        path = Path(job.path)
        if job.action == "inspect":
            found = sniff(path, job.filename)
            parser_for(found.document_type).inspect(path, job.limits)
            frames.send(wire.DONE, json.dumps(asdict(found)).encode())
            return
        if session is None:
            raise ParseError(INTERNAL, "This process only checks files.")
        if job.action == "tables":
            from footnote_ingestion.tables.jobs import answered  # loaded by `load_tables`

            frames.send(wire.DONE, answered(job.question, job.archives, session))
            return
        from footnote_ingestion.tables.kept import KeptTables  # loaded by `load_engine`

        with KeptTables(session) as kept:
            out = BlockWriter(kept.before(frames.block), job.limits, frames.pages)
            properties = parser_for(job.document_type).parse(path, out, job.limits)
            if not out.block_count:
                raise ParseError(NO_TEXT, "The file holds no text.")
            if not kept.finish():
                out.warn(CONTENT_LEFT_OUT, "The tables of this file are too large or too odd to be computed with.")
            metadata = describe(out, properties, job.filename)
            for at, part in kept.parts():
                frames.send(wire.TABLES, wire.TABLES_AT.pack(at) + part)
        frames.end(metadata.SerializeToString())
    except ParseError as error:
        _fail(frames, error.info)
    except MemoryError:
        _fail(frames, ParseError(OUT_OF_MEMORY, "Reading the file needs more memory than allowed.").info)
    except FileNotFoundError:
        _fail(frames, ParseError(INTERNAL, "The file to read is gone.").info)
    except Exception as error:  # a library failed on unexpected input: the file's fault, not the service's
        if is_no_room(error):
            _fail(frames, ParseError(NO_ROOM, "The disk on which files are read is full.", "Make room on it.").info)
            return
        name = type(error).__name__
        _fail(frames, ParseError(CORRUPT, f"The file is malformed: its parser gave up ({name}).").info)


def _fail(frames: _Frames, info: FailureInfo) -> None:
    frames.forget()
    payload = {"reason": info.reason, "message": info.message, "hint": info.hint}
    frames.send(wire.FAILED, json.dumps(payload).encode())


def _limit_memory(allowed: int) -> None:
    """Set a hard limit somewhat above the supervised one, counted from the memory mapped already."""
    if sys.platform != "linux":
        return
    import resource

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = mapped + allowed + allowed // 4
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def load() -> None:
    """Load what parsing needs, so that workers have it when they are forked."""
    import heapq  # noqa: F401  # which Counter.most_common loads, in a worker of another user perhaps in vain

    import footnote_ingestion.parsers.pdf.parser  # noqa: F401  # the commonest format, and the slowest to import

    added()  # the sandbox cannot search for packages

    detect("The language of this sentence is found by a model, which is loaded for it.")


def load_engine() -> None:
    """Load the engine of tables: 13 MB that a deployment does not need before its first file or question of tables."""
    import footnote_ingestion.tables.kept
    import footnote_ingestion.tables.session  # noqa: F401


def load_tables() -> None:
    """Load what questions about tables need besides, which many deployments never ask."""
    from footnote_ingestion.tables import jobs

    jobs.load()


def _session(folder: Path, memory: int) -> Session:
    from footnote_ingestion.tables.session import Session  # loaded by `load_engine`

    return Session(folder, memory)


def serve(plan: Plan, parent: int, jobs: BinaryIO, answers: BinaryIO) -> None:
    """Enter the sandbox that the plan describes, then run jobs until the input ends."""
    temporary = str(Path(plan.folder) / "tmp")
    os.environ.update(HOME=temporary, TMPDIR=temporary)
    tempfile.tempdir = None  # so that it is determined again
    session = _session(Path(temporary) / "tables", plan.memory_bytes) if plan.work != "inspect" else None
    # After the engine, which reserves some 600 MB of addresses that it does not use: they do not count against a file.
    _limit_memory(plan.memory_bytes)
    if plan.uid and session is not None:
        os.chown(session.folder, plan.uid, plan.uid)
    measures = Measures()
    if plan.isolate:
        measures = sandbox.enter(plan)
        sandbox.die_with(parent)  # every change of user resets this
    frames = _Frames(answers)
    frames.send(wire.READY, measures.line())
    # Parsing makes many objects and few cycles: collect rarely during a file, and after each.
    gc.set_threshold(_SELDOM, 10, 10)
    for line in jobs:
        run(wire.Job.from_line(line), frames, session)
        gc.collect()

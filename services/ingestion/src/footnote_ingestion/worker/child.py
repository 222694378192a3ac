"""The child process: reads jobs from standard input, one at a time, and answers in frames on standard output.

Run as `python -m footnote_ingestion.worker.child MEMORY_LIMIT_BYTES`. It ends when its input does, or with its parent.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from footnote.types.v1.document_pb2 import Block

from footnote_ingestion.failures import (
    CORRUPT,
    INTERNAL,
    NO_TEXT,
    OUT_OF_MEMORY,
    FailureInfo,
    ParseError,
)
from footnote_ingestion.metadata import describe
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.sniff import sniff
from footnote_ingestion.worker import wire

_PR_SET_PDEATHSIG = 1


class _Frames:
    """Writes frames; batches blocks."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._batch: list[bytes] = []
        self._size = 0

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

    def forget(self) -> None:
        self._batch, self._size = [], 0


def run(job: wire.Job, frames: _Frames) -> None:
    """Do one job; every failure becomes a frame."""
    frames.forget()
    try:
        path = Path(job.path)
        if job.action == "inspect":
            found = sniff(path, job.filename)
            parser_for(found.document_type).inspect(path, job.limits)
            frames.send(wire.DONE, json.dumps(asdict(found)).encode())
            return
        parser = parser_for(job.document_type)
        out = BlockWriter(frames.block, job.limits)
        properties = parser.parse(path, out, job.limits)
        if not out.block_count:
            raise ParseError(NO_TEXT, "The file holds no text.")
        metadata = describe(out, properties, job.filename)
        frames.flush()
        frames.send(wire.METADATA, metadata.SerializeToString())
    except ParseError as error:
        _fail(frames, error.info)
    except MemoryError:
        _fail(frames, ParseError(OUT_OF_MEMORY, "Reading the file needs more memory than allowed.").info)
    except FileNotFoundError:
        _fail(frames, ParseError(INTERNAL, "The file to read is gone.").info)
    except Exception as error:  # a library met what it does not expect: the file's fault, not the service's
        name = type(error).__name__
        _fail(frames, ParseError(CORRUPT, f"The file is malformed: its parser gave up ({name}).").info)


def _fail(frames: _Frames, info: FailureInfo) -> None:
    frames.forget()
    payload = {"reason": info.reason, "message": info.message, "hint": info.hint}
    frames.send(wire.FAILED, json.dumps(payload).encode())


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == 1:
            sys.exit(0)


def _limit_memory(allowed: int) -> None:
    """Set a hard stop somewhat above the watched limit, counted from what the process maps already."""
    if sys.platform != "linux":
        return
    import resource

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = mapped + allowed + allowed // 4
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Serve jobs until the input ends."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the parent, which ends us by closing our input
    warnings.simplefilter("ignore")
    logging.disable()  # parsers complain at length about broken files
    jobs = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing a library prints may mix with the frames
    import footnote_ingestion.parsers.pdf  # noqa: F401  # the commonest format, and the slowest to import

    _limit_memory(int(sys.argv[1]))
    frames = _Frames(answers)
    frames.send(wire.READY)
    for line in jobs:
        run(wire.Job.from_line(line), frames)


if __name__ == "__main__":
    main()

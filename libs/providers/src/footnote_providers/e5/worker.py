"""The embedding process: reads texts from stdin, writes vectors to stdout, and ends when stdin does.

Questions and what else a caller waits for have threads of their own, so that they do not wait for earlier passages.
Each batch of texts runs on one thread, several batches side by side: threads that share a batch wait for each other at
every operator.

Both ends speak one protocol over two pipes. A request is a header and its texts as JSON. A response is a header and
the vectors as float32 rows, or for `FAILED` the reason as UTF-8. Both headers hold the request's number, its kind or
state, and the number of bytes that follow.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from footnote_kit.errors import FootnoteError

from footnote_providers.e5 import files
from footnote_providers.e5.pieces import Pieces
from footnote_providers.onnx_local import OnnxEmbeddings, Settings, cores

HEADER = struct.Struct("<IBI")
QUERIES, PASSAGES, SENTENCES = 0, 1, 2
DONE, FAILED = 0, 1
READY = 0
"""The number of the first response, which needs no request: the model is loaded."""


PREFIXES = {QUERIES: "query: ", PASSAGES: "passage: ", SENTENCES: "passage: "}
_MOST_MEMORY = 4 << 30
_LOWER_PRIORITY = 5
_BATCH = 2
"""Passages per batch: the working set of two fits the processor's caches (tests/bench/test_bench_e5_cost.py)."""


class _Worker:
    """Runs the model for incoming requests."""

    def __init__(self, model: OnnxEmbeddings, output: BinaryIO, threads: int) -> None:
        self._model = model
        self._output = output
        self._writing = threading.Lock()
        self._threads = {kind: ThreadPoolExecutor(max_workers=1) for kind in PREFIXES}
        self._batches = {kind: ThreadPoolExecutor(max_workers=threads or cores()) for kind in (PASSAGES, SENTENCES)}

    def serve(self, source: BinaryIO) -> None:
        """Serve requests until the input ends."""
        self._write(READY, DONE, b"")
        while header := source.read(HEADER.size):
            number, kind, length = HEADER.unpack(header)
            texts = json.loads(source.read(length))
            self._threads[kind].submit(self._answer, number, kind, texts)

    def _answer(self, number: int, kind: int, texts: list[str]) -> None:
        try:
            vectors = self._model.encode([PREFIXES[kind] + text for text in texts], self._batches.get(kind), _BATCH)
            self._write(number, DONE, vectors.tobytes())
        except Exception as error:  # the libraries raise bare exceptions; the parent turns them into a typed one
            self._write(number, FAILED, type(error).__name__.encode())

    def _write(self, number: int, state: int, content: bytes) -> None:
        with self._writing:
            self._output.write(HEADER.pack(number, state, len(content)) + content)
            self._output.flush()


def main(arguments: list[str]) -> None:
    """Create the model's files if they are missing, load the model and serve.

    `arguments` are the folder of the files and the number of threads.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would contain texts
    os.setpriority(os.PRIO_PROCESS, 0, max(_LOWER_PRIORITY, os.getpriority(os.PRIO_PROCESS, 0)))
    cache, threads = Path(arguments[0]), arguments[1]
    if not files.made(cache):
        try:
            files.find(cache)
        except FootnoteError as error:
            sys.stdout.buffer.write(HEADER.pack(READY, FAILED, len(error.message.encode())) + error.message.encode())
            sys.exit(1)
        # A new process, because creating the files leaves much memory in use.
        os.execv(sys.executable, [sys.executable, "-m", "footnote_providers.e5.worker", *arguments])
    loaded = OnnxEmbeddings(
        files.places(cache),
        "e5",
        Settings(document_prefix="", query_prefix="", max_tokens=512),
        threads=1,
        tokenizer=Pieces,
    )
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        _Worker(loaded, sys.stdout.buffer, int(threads)).serve(sys.stdin.buffer)
    os._exit(0)  # unfinished work has no reader


if __name__ == "__main__":
    main(sys.argv[1:])

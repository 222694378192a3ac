"""The process that cuts long documents: a fork (`footnote_kit.app`), or `python -m` with this module.

It reads requests from standard input and writes answers to standard output, in the same order. Both are lengths
followed by pickles of plain values and message bytes. A request is a document's number and the steps to run; most
documents take one request. The process has no credentials, writes no log or file, and exits at the end of its input.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO, NoReturn

from footnote.stages.v1 import parsing_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote_kit.errors import FootnoteError

from footnote_indexing.chunking.drafts import Draft, Drafter

LENGTH = struct.Struct(">I")
NICENESS = 10
"""Searches and answers take precedence."""


def main() -> None:
    """Answer requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl+C and closes our input
    warnings.simplefilter("ignore")
    os.nice(NICENESS - os.nice(0))  # a fork may have it already
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # library output must not mix with the answers
    gc.freeze()
    drafters: dict[int, Drafter] = {}
    while request := _read(requests):
        data = pickle.dumps(_answer(drafters, *pickle.loads(request)), protocol=pickle.HIGHEST_PROTOCOL)
        answers.write(LENGTH.pack(len(data)) + data)
        answers.flush()


def _read(requests: BinaryIO) -> bytes:
    head = requests.read(LENGTH.size)
    return requests.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""


def _answer(drafters: dict[int, Drafter], number: int, steps: Sequence[tuple[str, Any]]) -> tuple[Any, ...]:
    drafts: list[Draft] = []
    state: tuple[Any, ...] = ()
    try:
        for what, value in steps:
            if what == "open":
                document, settings = value
                drafters[number] = Drafter(
                    stored_document_pb2.Document.FromString(document),
                    collection_pb2.CollectionSettings.FromString(settings),
                    _no_vectors,
                )
                continue
            if what == "close":
                drafters.pop(number, None)
                continue
            drafter = drafters[number]
            if what == "feed":
                drafts += drafter.feed([parsing_pb2.Block.FromString(block) for block in value])
            else:
                drafts += drafter.finish(parsing_pb2.ParsedMetadata.FromString(value))
                del drafters[number]
            state = (drafter.chosen, drafter.language, drafter.ordinal, drafter.characters)
        cut = [(draft.chunk.SerializeToString(), draft.embedded_text, draft.lexical_text) for draft in drafts]
    except FootnoteError as error:
        violations = [tuple(one) for one in error.violations]
        return "refused", error.code, error.message, error.reason, error.metadata, violations, error.retry_after
    except Exception as error:  # its text may quote the document
        return "failed", type(error).__name__
    return "cut", state, cut


def _no_vectors(texts: Sequence[str]) -> NoReturn:
    raise RuntimeError("documents that are cut by meaning are cut where the vectors are")


if __name__ == "__main__":
    main()

"""The protocol between parent and child over the child's standard streams.

The parent sends one JSON line per job. The child sends frames: a type byte, a length (u32, big endian), the payload.
Blocks travel as they are kept beside the file: in batches of length-prefixed `Block` messages.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from footnote.stages.v1.parsing_pb2 import Block

from footnote_ingestion.parsers.base import Limits

READY = b"R"  # the child has imported its modules and entered its sandbox; JSON: its measures
BLOCKS = b"B"  # a batch of blocks
PAGES = b"P"  # parsing progress: two u32, parsed and total; not kept
TABLES = b"T"  # a part of the archive of the file's tables, after its offset (u64); not kept with the frames
METADATA = b"M"  # a serialised ParsedMetadata; the last frame of a parsed document
DONE = b"D"  # a checked file is fine, JSON: mime_type, document_type; or the answer about tables, a message
FAILED = b"F"  # JSON: reason, message, hint
HEADER = struct.Struct(">cI")
PAGES_READ = struct.Struct(">II")
TABLES_AT = struct.Struct(">Q")
_LENGTH = struct.Struct(">I")

BATCH_BLOCKS = 100
BATCH_BYTES = 256 * 1024
# A single block may exceed the batch size; no valid one exceeds this.
MAX_FRAME = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Job:
    """One file to parse: `action` is "inspect" (which detects the type) or "parse"; `filename` is a hint, not a path.

    With "tables" there is no file but `archives`, and `question` is JSON for `footnote_ingestion.tables.jobs`.
    """

    action: str
    path: str
    document_type: str
    filename: str
    limits: Limits
    archives: tuple[str, ...] = ()
    question: str = ""

    def line(self) -> bytes:
        """Return the job as one JSON line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Job:
        """Return the job from a JSON line."""
        values = json.loads(line)
        return cls(**{**values, "limits": Limits(**values["limits"]), "archives": tuple(values["archives"])})


def pack_blocks(blocks: list[bytes]) -> bytes:
    """Return serialised blocks as one payload."""
    return b"".join(part for block in blocks for part in (_LENGTH.pack(len(block)), block))


def unpack_blocks(payload: bytes) -> Iterator[Block]:
    """Yield the blocks of a payload."""
    offset = 0
    while offset < len(payload):
        (length,) = _LENGTH.unpack_from(payload, offset)
        offset += _LENGTH.size
        yield Block.FromString(payload[offset : offset + length])
        offset += length

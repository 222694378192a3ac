"""Rows of the two physical schemas, chunks and messages: encoding, decoding and hits."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote.types.v1.chunk_pb2 import ChunkLevel
from footnote_kit.errors import InvalidArgument
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from footnote_store.expr import one_line
from footnote_store.fields import created_millis, facets, strategy_name
from footnote_store.ids import MAX_ID
from footnote_store.milvus_protocol.schema_pb2 import CollectionSchema, DataType, FunctionType
from footnote_store.scope import NEVER_FOUND, search_key

Vector = Sequence[float] | NDArray[np.float32]

FAR_FUTURE = 2**62
"""`expires_at` of rows that never expire, in Unix milliseconds."""

_LAYOUT = "l2"  # raise it when rows of the old layout are no longer searchable


MAX_TEXT_BYTES = 65_535
"""The engine's limit for a text value."""

_COMPRESSED = "z:"  # no base64 text begins like this
_WORTH_COMPRESSING, _MOST_UNPACKED = 1_000, 2**20

HIT_COLUMNS = (
    "id", "text", "extra", "tenant_id", "collection_key", "revision_key", "created_at", "expires_at", "lexical_text",
)  # fmt: skip
"""The columns of a hit, in the order of its fields."""

CHUNK_OUTPUT = list(HIT_COLUMNS[1:])  # the engine returns the id by itself
MESSAGE_OUTPUT = ["text", "extra", "tenant_id", "user_id"]


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk to store; `vector` is None for parents, which are never searched.

    `lexical_text` are its search terms. `owner_key` identifies the owner of the revision when that is not the chunk's
    document; see `own_key`.
    """

    chunk: Chunk
    collection_key: str
    vector: Vector | None
    lexical_text: str
    owner_key: str = ""


@dataclass(slots=True, eq=False)
class Hit:
    """A row that a channel found, with the engine's own score: cosine -1 to 1, or BM25 from 0 up.

    Times are Unix milliseconds. `lexical_text` are the search terms that the row is indexed by. `vector`, of shape
    (dimensions,) and length 1, is present when the search requested it. The columns suffice for ranking: of some
    hundred hits, only the few shown have their chunk decoded.
    """

    id: str
    text: str
    extra: str
    tenant_id: str
    collection_key: str
    revision_key: str
    created_at: int
    expires_at: int
    lexical_text: str
    score: float = 0.0
    vector: NDArray[np.float32] | None = None
    _chunk: Chunk | None = field(default=None, init=False, repr=False)

    @property
    def chunk(self) -> Chunk:
        """The chunk itself; raises InvalidArgument when the row is unreadable."""
        return self.decode()

    def decode(self) -> Chunk:
        """Return the chunk, decoded once; raises InvalidArgument when the row is unreadable."""
        if self._chunk is None:
            self._chunk = decode_chunk(self.id, self.text, self.extra)
        return self._chunk

    @property
    def document_id(self) -> str:
        """The id of the document, or of the row of own vectors, as in the column of that name."""
        collection_id = self.collection_key.rpartition(":")[0]
        return self.owner_key.removeprefix(own_key(collection_id, ""))

    @property
    def owner_key(self) -> str:
        """The owner of the revision; unlike ids from callers, it is unique across collections."""
        return self.revision_key.rpartition(":")[0]

    @property
    def revision(self) -> int:
        """The revision of the document."""
        return int(self.revision_key.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message to store for one user."""

    message: MemoryMessage
    tenant_id: str
    user_id: str
    vector: Vector


CHUNK_SPACES = "chunks_"
"""How the names of all physical collections for chunks begin."""
MESSAGE_SPACES = "messages_"
"""How the names of those for messages begin; the length of their vectors follows."""


def space_name(dimensions: int, variant: int = 0) -> str:
    """Return the physical collection for chunks with vectors of a length; variants separate its generations.

    The name also contains the layout of the rows. After a change of layout, chunks of the old one count as missing,
    and indexing writes missing chunks again.
    """
    return f"{CHUNK_SPACES}{_LAYOUT}{f'_v{variant + 1}' if variant else ''}_{dimensions}"


def dimensions_of(space: str) -> int:
    """Return the vector length of a physical collection, which is part of its name."""
    return int(space.rsplit("_", 1)[-1])


def revision_key(document_id: str, revision: int) -> str:
    """Return the value of the `revision_key` column for a document's revision."""
    return f"{document_id}:{revision}"


def own_key(collection_id: str, row_id: str) -> str:
    """Return the owner key of a row of own vectors: the caller's id is unique within its collection only."""
    return f"{collection_id}/{row_id}"


def _bounded(text: str, limit: int, field: str) -> str:
    if len(text.encode("utf-8", "surrogatepass")) > limit:
        raise InvalidArgument.field(field, f"must be at most {limit} bytes in UTF-8")
    return text


def _shortened(text: str, limit: int) -> str:
    """Cut a text that only serves filters, such as a file name, to the column's width."""
    return one_line(text).encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def unit(vector: Vector | None, dimensions: int) -> list[float] | NDArray[np.float32]:
    """Return the vector scaled to length 1, so that the engine's inner products are cosines; zeros for None.

    The cosine metric gives the same result, but takes the engine a quarter longer, because it measures every row in
    every search.
    """
    if vector is None:
        return [0.0] * dimensions
    if len(vector) != dimensions:
        raise InvalidArgument(
            f"the vector has {len(vector)} dimensions, the collection {dimensions}", reason="DIMENSION_MISMATCH"
        )
    values = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(values))
    return values / length if length > 0 else values


def encode_chunk(row: Row, dimensions: int) -> dict[str, Any]:
    """Return a row in the engine's form; raises InvalidArgument for values that do not fit."""
    chunk = row.chunk
    extra = Chunk()
    extra.CopyFrom(chunk)
    extra.ClearField("text")
    parent = chunk.level == ChunkLevel.CHUNK_LEVEL_PARENT
    expires = chunk.expire_time.ToMilliseconds() if chunk.HasField("expire_time") else FAR_FUTURE
    return {
        "id": chunk.id,
        "tenant_id": chunk.tenant_id,
        "owner_id": chunk.owner_id,
        "collection_key": row.collection_key,
        "document_id": chunk.document_id,
        "search_key": NEVER_FOUND if parent else search_key(chunk.tenant_id, row.collection_key),
        "revision_key": revision_key(row.owner_key or chunk.document_id, chunk.revision),
        "ordinal": chunk.ordinal,
        "level": int(chunk.level),
        "text": _bounded(chunk.text, MAX_TEXT_BYTES, "chunk text"),
        "lexical_text": _shortened(row.lexical_text, MAX_TEXT_BYTES),
        "dense": unit(row.vector, dimensions),
        "language": _shortened(chunk.language, 64),
        "document_type": _shortened(chunk.document_type, 64),
        "source_type": _shortened(chunk.source_type, 256),
        "processing_strategy": strategy_name(chunk),
        "filename": _shortened(chunk.filename, 1024),
        "created_at": created_millis(chunk),
        "expires_at": expires,
        "facets": facets(chunk),
        "extra": _bounded(_packed(extra.SerializeToString()), MAX_TEXT_BYTES, "chunk metadata"),
    }


def _packed(data: bytes) -> str:
    """Return bytes as text for a column; compression halves long ones, whose many cell locations are alike."""
    if len(data) < _WORTH_COMPRESSING:
        return base64.b64encode(data).decode()
    return _COMPRESSED + base64.b64encode(zlib.compress(data, 1)).decode()


def _unpacked(text: str) -> bytes:
    if not text.startswith(_COMPRESSED):
        return base64.b64decode(text)
    return zlib.decompressobj().decompress(base64.b64decode(text[len(_COMPRESSED) :]), _MOST_UNPACKED)


def decode_chunk(id_: str, text: str, extra: str) -> Chunk:
    """Return the chunk in a stored row."""
    chunk = Chunk()
    try:
        chunk.ParseFromString(_unpacked(extra))
    except (DecodeError, ValueError, zlib.error) as error:
        raise InvalidArgument(f"row {id_} cannot be read") from error
    chunk.text = text
    return chunk


def encode_message(row: MessageRow, dimensions: int) -> dict[str, Any]:
    """Return a message in the engine's form."""
    extra = MemoryMessage()
    extra.CopyFrom(row.message)
    extra.ClearField("text")
    extra.ClearField("score")
    return {
        # Message ids are unique per user, so a user cannot overwrite another's message by its id.
        "id": _bounded(message_key(row.tenant_id, row.user_id, row.message.message_id), 512, "message id"),
        "tenant_id": row.tenant_id,
        "user_id": row.user_id,
        "conversation_id": row.message.conversation_id,
        "role": int(row.message.role),
        "created_at": int(row.message.create_time.ToMilliseconds()),
        "text": row.message.text.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore"),
        "dense": unit(row.vector, dimensions),
        "extra": base64.b64encode(extra.SerializeToString()).decode(),
    }


def message_key(tenant_id: str, user_id: str, message_id: str) -> str:
    """Return the id of a user's message in the store."""
    whose = hashlib.sha256(f"{tenant_id}\0{user_id}".encode()).hexdigest()[:32]
    return f"{whose}:{message_id}"


def decode_message(text: str, extra: str, score: float) -> MemoryMessage:
    """Return a stored message with its similarity to the query, 0 to 1."""
    message = MemoryMessage()
    message.ParseFromString(base64.b64decode(extra))
    message.text = text
    message.score = min(1.0, max(0.0, score))
    return message


def chunk_schema(name: str, dimensions: int, *, partition_by_tenant: bool) -> CollectionSchema:
    """Return the schema of a physical chunk collection."""
    schema = CollectionSchema(name=name)
    _keys(schema, MAX_ID, partition_by_tenant)
    for column, width in (
        ("owner_id", 256), ("collection_key", 256), ("document_id", 256), ("revision_key", 512), ("language", 64),
        ("document_type", 64), ("source_type", 256), ("processing_strategy", 256), ("filename", 1024),
        ("text", MAX_TEXT_BYTES), ("extra", MAX_TEXT_BYTES),
    ):  # fmt: skip
        _column(schema, column, DataType.VarChar, max_length=width)
    for column in ("search_key", "ordinal", "level", "created_at", "expires_at"):
        _column(schema, column, DataType.Int64)
    _column(schema, "facets", DataType.JSON)
    _column(schema, "dense", DataType.FloatVector, dim=dimensions)
    _column(
        schema, "lexical_text", DataType.VarChar, max_length=MAX_TEXT_BYTES, enable_analyzer="true",
        analyzer_params='{"tokenizer":"whitespace"}',
    )  # fmt: skip
    _column(schema, "sparse", DataType.SparseFloatVector)
    schema.fields[-1].is_function_output = True
    schema.functions.add(
        name="bm25", type=FunctionType.BM25, input_field_names=["lexical_text"], output_field_names=["sparse"]
    )
    return schema


def message_schema(name: str, dimensions: int, *, partition_by_tenant: bool) -> CollectionSchema:
    """Return the schema of a physical message collection."""
    schema = CollectionSchema(name=name)
    _keys(schema, 512, partition_by_tenant)
    for column, width in (("user_id", 256), ("conversation_id", 256), ("text", MAX_TEXT_BYTES), ("extra", 4096)):
        _column(schema, column, DataType.VarChar, max_length=width)
    for column in ("role", "created_at"):
        _column(schema, column, DataType.Int64)
    _column(schema, "dense", DataType.FloatVector, dim=dimensions)
    return schema


def _keys(schema: CollectionSchema, longest_id: int, partition_by_tenant: bool) -> None:
    _column(schema, "id", DataType.VarChar, max_length=longest_id)
    schema.fields[-1].is_primary_key = True
    _column(schema, "tenant_id", DataType.VarChar, max_length=256)
    schema.fields[-1].is_partition_key = partition_by_tenant


def _column(schema: CollectionSchema, name: str, kind: int, **parameters: int | str) -> None:
    field = schema.fields.add(name=name, data_type=kind)
    for key, value in parameters.items():
        field.type_params.add(key=key, value=str(value))

"""The filterable fields, and the layout of a chunk's free metadata for the engine.

The engine has no `not (…)` and no `exists`, and compares only scalars at a JSON path. The layout therefore stores
each value's type, for `$exists` and negated comparisons. It also gives each element of a list its own key, for "the
list contains". Keys are encoded as letters, digits and underscores, so no name can escape from a path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.collection_pb2 import ChunkingStrategy
from footnote_kit import origins
from footnote_kit.errors import InvalidArgument
from google.protobuf.struct_pb2 import Struct, Value

from footnote_store.expr import Scalar, one_line

TEXT_COLUMNS = {
    "id": "id",
    "chunk_id": "id",
    "document_id": "document_id",
    "owner_id": "owner_id",
    "filename": "filename",
    "document_type": "document_type",
    "language": "language",
    "source_type": "source_type",
    "chunking_strategy": "processing_strategy",
    "processing_strategy": "processing_strategy",
}
"""Filter names of text columns; every row has them, empty when unknown."""

NUMBER_COLUMNS = {"ordinal": "ordinal"}
"""Filter names of integer columns."""

DATE_COLUMNS = {"created_at": "created_at", "create_time": "created_at"}
"""Filter names of columns in Unix milliseconds; filters give dates as ISO 8601 text or milliseconds."""

_OURS = ("title", "mime_type", "sha256", "heading", "heading_path", "page", "slide", "sheet", "tags")
"""Further names that every chunk may have; the uploader's own keys take precedence."""

NUMBER, TEXT, BOOL, LIST = "n", "s", "b", "l"
_MAX_BYTES = 60_000  # the engine's limit for a JSON value is 65 536
_MAX_METADATA = 50_000  # the rest is for tags, title, and the headings of the chunk's place
_PREFIX = "metadata."

Field = Scalar | list[Scalar]


def metadata_name(field: str) -> str:
    """Return a metadata field's name: "metadata.language" addresses a key hidden by a column of the same name."""
    return field[len(_PREFIX) :] if field.startswith(_PREFIX) else field


def is_given(field: str) -> bool:
    """Return whether a name is one of Footnote's own, not a key of the uploader's metadata."""
    return field in TEXT_COLUMNS or field in NUMBER_COLUMNS or field in DATE_COLUMNS or field in _OURS


def encode(name: str) -> str:
    """Encode any text as ASCII letters, digits and underscores, without collisions."""
    if name.isascii() and name.isalnum():
        return name
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def normal(value: Scalar) -> Scalar:
    """Return numbers without a fraction as integers, texts on one line, and other values unchanged."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


def value_key(field: str) -> str:
    """Return the key of a field's value."""
    return "v" + encode(field)


def type_key(field: str) -> str:
    """Return the key of a field's type, NUMBER, TEXT, BOOL or LIST; it is missing when the field is."""
    return "t" + encode(field)


def item_key(field: str, value: Scalar) -> str:
    """Return the key that is true when a list field contains the value."""
    text = f"{field}\0{json.dumps(normal(value), ensure_ascii=False)}"
    return "i" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _plain(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {key: _plain(item) for key, item in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_plain(item) for item in value.list_value.values]
    if kind in {None, "null_value"}:
        return None
    return getattr(value, kind)


def _flatten(prefix: str, data: Mapping[str, Any], out: dict[str, Field]) -> None:
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            _flatten(f"{name}.", value, out)
        elif isinstance(value, list):
            items = [normal(item) for item in value if isinstance(item, str | bool | int | float)]
            if items:
                out[name] = items
        elif isinstance(value, str | bool | int | float):
            out[name] = normal(value)


def metadata_fields(chunk: Chunk) -> dict[str, Field]:
    """Return the filterable fields besides the columns: tags, the chunk's location, and the free metadata.

    Nested objects become dotted names; the uploader's own keys take precedence.
    """
    place = chunk.locator.WhichOneof("place")
    fields: dict[str, Field] = {}
    ours = {
        "title": chunk.title,
        "mime_type": chunk.mime_type,
        "sha256": chunk.sha256,
        "heading": chunk.locator.heading_path[-1] if chunk.locator.heading_path else "",
        "heading_path": " › ".join(chunk.locator.heading_path),
        "page": chunk.locator.page.page if place == "page" else 0,
        "slide": chunk.locator.slide.slide if place == "slide" else 0,
        "sheet": chunk.locator.sheet.sheet if place == "sheet" else "",
    }
    _flatten("", {name: value for name, value in ours.items() if value}, fields)
    metadata: Struct = chunk.metadata
    _flatten("", {key: _plain(value) for key, value in metadata.fields.items()}, fields)
    if chunk.tags:
        _flatten("", {"tags": list(chunk.tags)}, fields)
    return fields


def check_metadata(name: str, metadata: Struct) -> None:
    """Raise InvalidArgument about the field `name` for a document's metadata that its chunks have no room for."""
    # The document's origin is ours, and there is room for it beside.
    own = Struct(fields={key: value for key, value in metadata.fields.items() if key != origins.KEY})
    # Each leaf has its whole dotted name: with few long names, many leaves would be far more than was sent.
    too_long = _names_size(own.fields, 0) > _MAX_METADATA
    if too_long or _size(_layout(metadata_fields(Chunk(metadata=own)))) > _MAX_METADATA:
        problem = f"must be at most {_MAX_METADATA} bytes of JSON, where each element of a list takes 31"
        raise InvalidArgument.field(name, problem)


def _names_size(fields: Mapping[str, Value], prefix: int) -> int:
    """Return the characters of the dotted names of all leaves, those of lists once an element."""
    size = 0
    for key, value in fields.items():
        length = prefix + len(key)
        if value.HasField("struct_value"):
            size += _names_size(value.struct_value.fields, length + 1)
        else:
            size += length * max(1, len(value.list_value.values) if value.HasField("list_value") else 1)
    return size


def facets(chunk: Chunk) -> dict[str, Scalar]:
    """Return the JSON column of a chunk; raises InvalidArgument when its metadata exceeds the store's limit."""
    result = _layout(metadata_fields(chunk))
    if _size(result) > _MAX_BYTES:
        raise InvalidArgument.field("metadata", f"must be at most {_MAX_BYTES} bytes of JSON")
    return result


def _size(layout: Mapping[str, Scalar]) -> int:
    return len(json.dumps(layout, ensure_ascii=False).encode("utf-8", "replace"))


def _layout(fields: Mapping[str, Field]) -> dict[str, Scalar]:
    result: dict[str, Scalar] = {}
    for name, value in fields.items():
        if isinstance(value, list):
            result[type_key(name)] = LIST
            result.update((item_key(name, item), True) for item in value)
        else:
            result[type_key(name)] = kind_of(value)
            result[value_key(name)] = value
    return result


def kind_of(value: Scalar) -> str:
    """Return the type mark of a scalar."""
    if isinstance(value, bool):
        return BOOL
    return TEXT if isinstance(value, str) else NUMBER


def to_millis(value: Scalar) -> int | float | None:
    """Convert a date to Unix milliseconds: ISO 8601 text (UTC by default) or a number of milliseconds."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def text_column(chunk: Chunk, column: str) -> str:
    """Return a chunk's value in a text column."""
    if column == "processing_strategy":
        return strategy_name(chunk)
    return one_line(str(getattr(chunk, column)))


def strategy_name(chunk: Chunk) -> str:
    """Return the name of the strategy that cut a chunk, without its prefix; "" for none."""
    value = chunk.chunking_strategy
    return ChunkingStrategy.Name(value).removeprefix("CHUNKING_STRATEGY_") if value else ""


def number_column(chunk: Chunk, column: str) -> int:
    """Return a chunk's value in an integer column."""
    return created_millis(chunk) if column == "created_at" else int(getattr(chunk, column))


def created_millis(chunk: Chunk) -> int:
    """Return the upload time of the chunk's document, in Unix milliseconds."""
    return int(chunk.create_time.ToMilliseconds())


def unique(values: Sequence[Scalar]) -> list[Scalar]:
    """Return the distinct values, in order; true differs from 1."""
    seen: dict[tuple[bool, Scalar], Scalar] = {}
    for value in values:
        seen.setdefault((isinstance(value, bool), value), value)
    return list(seen.values())

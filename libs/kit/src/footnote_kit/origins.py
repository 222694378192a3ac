"""Where a document came from, as its metadata carries it from edge through every stage to its chunks.

The stages need to know nothing of sources: the key is one of the uploader's metadata, which edge alone may set. Filters
reach it by its dotted names, as in {"footnote_source.id": "…"}.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import quote

from footnote.types.v1.document_pb2 import DocumentOrigin
from google.protobuf.struct_pb2 import Struct

from footnote_kit.errors import InvalidArgument

KEY = "footnote_source"
"""The reserved key of a document's metadata."""

_FEW_WORDS = 12
_MANY_CHARACTERS = 160


def refuse_reserved(metadata: Struct, field: str = "metadata") -> None:
    """Raise InvalidArgument for metadata of a caller that claims to come from a source."""
    if KEY in metadata.fields:
        raise InvalidArgument.field(field, f"must not have the key '{KEY}', which says what source a document is of")


def origin_of(metadata: Struct) -> DocumentOrigin | None:
    """Return the origin that metadata has; None for an upload."""
    if KEY not in metadata.fields:
        return None
    fields: Mapping[str, object] = metadata.fields[KEY].struct_value.fields
    origin = DocumentOrigin(
        source_id=_text(fields, "id"),
        kind=_text(fields, "kind"),
        item=_text(fields, "item"),
        version=_text(fields, "version"),
        address=_text(fields, "address"),
    )
    try:
        origin.time.FromDatetime(datetime.fromisoformat(_text(fields, "time")))
    except ValueError:
        origin.ClearField("time")
    return origin


def without_origin(metadata: Struct) -> Struct:
    """Return the uploader's own metadata."""
    if KEY not in metadata.fields:
        return metadata
    own = Struct()
    own.CopyFrom(metadata)
    del own.fields[KEY]
    return own


def with_origin(metadata: Struct | None, label: Mapping[str, str]) -> Struct:
    """Return metadata with an origin in place of the one that it had."""
    both = Struct()
    if metadata is not None:
        both.CopyFrom(metadata)
    both[KEY] = dict(label)
    return both


def leading_to(origin: DocumentOrigin, quoted: str) -> DocumentOrigin:
    """Return an origin whose address leads browsers to a quote: a text fragment, of web pages and feeds only."""
    found = DocumentOrigin()
    found.CopyFrom(origin)
    words = quoted.split()
    if origin.kind in ("web", "feed") and origin.address.startswith(("http://", "https://")) and words:
        mark = "" if "#" in origin.address else "#"
        found.address = f"{origin.address}{mark}:~:text={_fragment(words)}"
    return found


def _fragment(words: list[str]) -> str:
    whole = " ".join(words)
    if len(words) <= _FEW_WORDS and len(whole) <= _MANY_CHARACTERS:
        return _escaped(words)
    # From the first words to the last: a long text in between may have elements that a page breaks it by.
    return f"{_escaped(words[:4])},{_escaped(words[-4:])}"


def _escaped(words: Iterable[str]) -> str:
    # "-" and "," are syntax of text fragments.
    return quote(" ".join(words)[:_MANY_CHARACTERS], safe="").replace("-", "%2D")


def _text(fields: Mapping[str, object], name: str) -> str:
    return str(fields[name].string_value) if name in fields else ""  # type: ignore[attr-defined]

"""The origin of a document: a metadata entry that travels from edge through every stage to the chunks.

The stages know nothing of sources. The entry is an ordinary key of the uploader's metadata that only edge may set.
Filters address it by dotted names, as in {"footnote_source.id": "…"}.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import quote

from footnote.types.v1.document_pb2 import DocumentOrigin
from google.protobuf.struct_pb2 import Struct

from footnote_kit.errors import InvalidArgument

KEY = "footnote_source"
"""The reserved key in a document's metadata."""

_FEW_WORDS = 12
_MANY_CHARACTERS = 160


def refuse_reserved(metadata: Struct, field: str = "metadata") -> None:
    """Raise InvalidArgument for a caller's metadata that claims to come from a source."""
    if KEY in metadata.fields:
        raise InvalidArgument.field(field, f"must not have the key '{KEY}', which names the document's source")


def origin_of(metadata: Struct) -> DocumentOrigin | None:
    """Return the origin in the metadata; None for an upload."""
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
    """Return the metadata without its origin: the uploader's own part."""
    if KEY not in metadata.fields:
        return metadata
    own = Struct()
    own.CopyFrom(metadata)
    del own.fields[KEY]
    return own


def with_origin(metadata: Struct | None, label: Mapping[str, str]) -> Struct:
    """Return the metadata with the given origin, which replaces an existing one."""
    both = Struct()
    if metadata is not None:
        both.CopyFrom(metadata)
    both[KEY] = dict(label)
    return both


def leading_to(origin: DocumentOrigin, quoted: str) -> DocumentOrigin:
    """Return a web or feed origin whose address leads a browser to the quote by a text fragment; others unchanged.

    Of a quote of several lines, such as a heading and its sentence, the longest counts: a browser looks for the text
    within one element of the page.
    """
    found = DocumentOrigin()
    found.CopyFrom(origin)
    words = max(quoted.splitlines(), key=len, default="").split()
    if origin.kind in ("web", "feed") and origin.address.startswith(("http://", "https://")) and words:
        mark = "" if "#" in origin.address else "#"
        found.address = f"{origin.address}{mark}:~:text={_fragment(words)}"
    return found


def _fragment(words: list[str]) -> str:
    whole = " ".join(words)
    if len(words) <= _FEW_WORDS and len(whole) <= _MANY_CHARACTERS:
        return _escaped(words)
    # Only the first and last words: a page may break a longer text by elements in between.
    return f"{_escaped(words[:4])},{_escaped(words[-4:])}"


def _escaped(words: Iterable[str]) -> str:
    # "-" and "," are syntax of text fragments.
    return quote(" ".join(words)[:_MANY_CHARACTERS], safe="").replace("-", "%2D")


def _text(fields: Mapping[str, object], name: str) -> str:
    return str(fields[name].string_value) if name in fields else ""  # type: ignore[attr-defined]

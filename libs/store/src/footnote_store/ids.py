"""Ids of chunks, for code that produces chunks without a store."""

MAX_ID = 512
"""The most characters of a row's id."""
_DIGITS = 18  # the most digits of a revision or ordinal, which have 64 bits


def chunk_id(document_id: str, revision: int, ordinal: int) -> str:
    """Return the id of a chunk; ids sort in reading order.

    Single quotes are encoded, because callers' ids may contain them and the embedded engine cannot replace such rows.
    """
    name = document_id.replace("%", "%25").replace("'", "%27")
    return f"{name}:{revision:06d}:{ordinal:07d}"


def parse_chunk_id(id_: str) -> tuple[str, int, int] | None:
    """Return document (or own row), revision and ordinal of a chunk's id; None for an invalid id."""
    name, *numbers = id_.rsplit(":", 2) if len(id_) <= MAX_ID else ("",)
    numeric = len(numbers) == 2 and all(number.isdecimal() and len(number) <= _DIGITS for number in numbers)
    if not name or "\x00" in name or not numeric:
        return None
    revision, ordinal = map(int, numbers)
    document_id = name.replace("%27", "'").replace("%25", "%")
    # Digits of other scripts, missing zeros and unencoded names do not survive the round trip.
    return (document_id, revision, ordinal) if chunk_id(document_id, revision, ordinal) == id_ else None

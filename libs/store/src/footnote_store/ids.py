"""Ids of chunks, for processes that cut documents and know no store."""

MAX_ID = 512
"""Characters of the longest id of a row."""
_DIGITS = 18  # of a revision and an ordinal at most: numbers of 64 bits


def chunk_id(document_id: str, revision: int, ordinal: int) -> str:
    """Return the id of a chunk; the order of ids is reading order.

    The embedded engine cannot replace a row whose id holds a single quote, as ids that callers give may.
    """
    name = document_id.replace("%", "%25").replace("'", "%27")
    return f"{name}:{revision:06d}:{ordinal:07d}"


def parse_chunk_id(id_: str) -> tuple[str, int, int] | None:
    """Return document (or own row), revision and ordinal of a chunk's id; None for what is no such id."""
    name, *numbers = id_.rsplit(":", 2) if len(id_) <= MAX_ID else ("",)
    numeric = len(numbers) == 2 and all(number.isdecimal() and len(number) <= _DIGITS for number in numbers)
    if not name or "\x00" in name or not numeric:
        return None
    revision, ordinal = map(int, numbers)
    document_id = name.replace("%27", "'").replace("%25", "%")
    # Digits of other scripts, missing zeros and names that were never written so do not come back as they were.
    return (document_id, revision, ordinal) if chunk_id(document_id, revision, ordinal) == id_ else None

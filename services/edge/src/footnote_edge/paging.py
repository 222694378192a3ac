"""Pages of a list: sizes within bounds and tokens that mean nothing to the caller."""

import base64
import binascii
from dataclasses import dataclass

from footnote_kit.errors import InvalidArgument

DEFAULT_SIZE = 100
MAX_SIZE = 1000
MAX_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted: `size` rows after the first `offset`."""

    size: int
    offset: int

    @classmethod
    def of(cls, page_size: int, page_token: str) -> "Page":
        """Return the page asked for; 0 means 100 rows; raises InvalidArgument for a size or token that is not ours."""
        if page_size < 0 or page_size > MAX_SIZE:
            raise InvalidArgument.field("page_size", f"must be between 1 and {MAX_SIZE}, or 0 for {DEFAULT_SIZE}")
        if not page_token:
            return cls(page_size or DEFAULT_SIZE, 0)
        try:
            digits = base64.urlsafe_b64decode(page_token.encode())
        except (ValueError, binascii.Error):
            digits = b""
        # No list is as long as ten digits say; the databases would stumble over more.
        if not digits.isdigit() or len(digits) > MAX_DIGITS:
            raise InvalidArgument.field("page_token", "must be a next_page_token of the same list")
        return cls(page_size or DEFAULT_SIZE, int(digits))

    def next_token(self, returned: int, total: int) -> str:
        """Return the token of the page after this one, empty when this is the last."""
        end = self.offset + returned
        return base64.urlsafe_b64encode(str(end).encode()).decode() if returned and end < total else ""

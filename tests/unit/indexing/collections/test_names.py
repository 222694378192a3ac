"""Names of collections: letters of every language, with the marks that belong to them, in one form."""

import unicodedata

import pytest
from footnote_indexing.collections.rules import checked_name
from footnote_kit.errors import InvalidArgument


@pytest.mark.parametrize(
    "name",
    ["Plans 2026", "1-b_c.d", "हिन्दी", "தமிழ்", "বাংলা", "العَرَبِيَّة", "Verträge", "Tiếng Việt", "ガイド", "한국",
     "x" * 128, "ễ" * 128],
)  # fmt: skip
def test_a_name_is_stored_composed(name: str) -> None:
    for form in ("NFC", "NFD"):
        assert checked_name(unicodedata.normalize(form, name)) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    "name",
    ["", " ", " a", "a ", "-a", "_a", "a/b", "a\nb", "\u0301a", "x" * 129, "x" * 100_000,
     "a\u200bb", "a\u202eb", "a\u034fb", "a\u20dd"],
)  # fmt: skip
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^collection\.name "):
        checked_name(name)

import pytest
from footnote_text.digits import latin_digits
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(("text", "latin"), [
    ("١٬٢٠٠٫٥٪", "1,200.5%"), ("۱۲۳", "123"), ("५००", "500"), ("５００", "500"), ("x² ½ 五", "x² ½ 五"),
])  # fmt: skip
def test_decimal_digits_and_their_arabic_signs_are_latin(text: str, latin: str) -> None:
    assert latin_digits(text) == latin


@given(st.text())
def test_places_stay(text: str) -> None:
    assert len(latin_digits(text)) == len(text)

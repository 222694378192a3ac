# ruff: noqa: E501 - tables of cases
"""Citation markers in a stream: what is one, what is none, and the same pieces however the stream is cut."""

import itertools

import pytest
from footnote_generation.answering.markers import Marker, MarkerScanner, Piece, Text, scan
from hypothesis import given, settings
from hypothesis import strategies as st

FILES = ["production.xlsx", "rapport.pdf", "my file.pdf"]


def merged(pieces: list[Piece]) -> list[Piece]:
    result: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Text) and result and isinstance(result[-1], Text):
            result[-1] = Text(result[-1].text + piece.text)
        else:
            result.append(piece)
    return result


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[1]", (1,)),
        ("[1, 2]", (1, 2)),
        ("[1;3]", (1, 3)),
        ("[1-3]", (1, 2, 3)),
        ("[1 and 2]", (1, 2)),
        ("[Source 2]", (2,)),
        ("[Source 2: rapport.pdf, page 3]", (2,)),
        ("[sources 2 et 3]", (2, 3)),
        ("(source 3)", (3,)),
        ("【4†source】", (4,)),
        ("[12][3]", (12, 3)),
    ],
)
def test_recognises_numbers(text: str, numbers: tuple[int, ...]) -> None:
    found = [piece for piece in scan(f"Before {text} after.", FILES) if isinstance(piece, Marker)]
    assert tuple(number for marker in found for number in marker.numbers) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "(2)",
        "(2019)",
        "[note]",
        "[page 3](http://x.org)",
        "[x] done",
        "a [b",
        "Selon moi, non.",
        "according to him",
        "```\na[1]\n```",
    ],
)
def test_leaves_other_brackets_alone(text: str) -> None:
    assert merged(scan(text, FILES)) == [Text(text)]


@pytest.mark.parametrize("numeral", ["½", "¼", "⅔", "₂", "Ⅳ", "①", "⑴", "❶", "一", "〇", "௰", "፩"])
def test_numerals_that_are_no_letters_are_text(numeral: str) -> None:
    text = f"{numeral} cup, 1 {numeral}, CO{numeral} and {numeral}x [1]."
    assert merged(scan(text, FILES)) == [Text(text[:-4]), Marker("[1]", (1,)), Text(".")]


def test_reads_places_in_words() -> None:
    french = scan("Selon la cellule C12 (feuille 'Stocks' du fichier production.xlsx): 150", FILES)
    assert isinstance(french[0], Marker)
    assert french[0].place is not None
    assert (french[0].place.filename, french[0].place.sheet, french[0].place.cell) == (
        "production.xlsx",
        "Stocks",
        "C12",
    )
    english = scan("According to page 3 of rapport.pdf, it is 200.", FILES)
    assert isinstance(english[0], Marker)
    assert english[0].place is not None
    assert (english[0].place.filename, english[0].place.page) == ("rapport.pdf", 3)


PARTS = st.sampled_from(
    [
        "Le stock est 150 ", "[1]", "[1, 2]", "[9]", "[Source 2: rapport.pdf, page 3]", " (voir rapport.pdf, p. 3)", ". ", "\n", "[", "(",
        "Selon la cellule C12 (feuille 'Stocks' du fichier production.xlsx): ", "D'après my file.pdf, page 2, ", "d'accord",
        "according to page 3 of rapport.pdf", "accord", "Selon ", "```", "`x[1]`", "`", "¹", "[^2]", "[1](http://a.b/c)", "[[1]]", "[S1]", "m²", "](http://a)", "[note]", "e.g. ", "】", "【1】",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PARTS, max_size=12), st.lists(st.integers(0, 400), max_size=8))
@pytest.mark.slow
def test_pieces_do_not_depend_on_how_the_stream_is_cut(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    bounds = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    scanner = MarkerScanner(FILES)
    pieces: list[Piece] = []
    for left, right in itertools.pairwise(bounds):
        pieces.extend(scanner.feed(text[left:right]))
    pieces.extend(scanner.finish())
    assert merged(pieces) == merged(scan(text, FILES))
    assert "".join(piece.raw if isinstance(piece, Marker) else piece.text for piece in pieces) == text


def test_every_single_boundary_gives_the_same_pieces() -> None:
    text = "Le stock est 150 [1]. Voir [1, 2] et [Source 2: rapport.pdf, page 3]. Selon rapport.pdf, page 3: 200 [3]."
    whole = merged(scan(text, FILES))
    for cut in range(len(text)):
        scanner = MarkerScanner(FILES)
        pieces = [*scanner.feed(text[:cut]), *scanner.feed(text[cut:]), *scanner.finish()]
        assert merged(pieces) == whole
        shown = [piece.text for piece in pieces if isinstance(piece, Text)]
        assert not any("[1" in part for part in shown)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Lunch is free[^1].", (1,)), ("Lunch is free [^1, ^2].", (1, 2)), ("Lunch is free¹.", (1,)), ("Lunch is free.² Ask.", (2,)),
        ("Lunch is free¹,².", (1, 2)), ("Lunch is free¹⁻³.", (1, 2, 3)), ("Lunch is free [S1].", (1,)), ("Lunch is free [S1, S2].", (1, 2)),
        ("午餐免费[1；2]。", (1, 2)), ("午餐免费［1、3］。", (1, 3)), ("午餐免费¹。", (1,)), ("Lunch is free【1†L3-L5】.", (1,)), ("Lunch is free 【1†handbook.pdf】.", (1,)),
        ("Lunch is free [1](https://example.org/a_(b)).", (1,)), ("Lunch is free [[2]](#source-2).", (2,)), ('Free [3](handbook.pdf "p. 3").', (3,)),
        ("Lunch is free [[2]].", (2,)),
    ],
)  # fmt: skip
def test_markers_as_models_write_them_are_read_once(text: str, numbers: tuple[int, ...]) -> None:
    markers = [piece for piece in scan(text, FILES) if isinstance(piece, Marker)]
    assert len(markers) == 1
    assert markers[0].numbers == numbers
    rest = "".join(piece.text for piece in scan(text, FILES) if isinstance(piece, Text))
    assert not any(char in rest for char in "[]()【】¹²³⁻"), rest
    for cut in range(len(text)):
        scanner = MarkerScanner(FILES)
        assert merged([*scanner.feed(text[:cut]), *scanner.feed(text[cut:]), *scanner.finish()]) == merged(
            scan(text, FILES)
        )


@pytest.mark.parametrize(
    "text",
    [
        "`row[1]` is the first.", "Write ``a[1] ` b[2]`` here.", "```\nx¹ [^1]\n```", "An area of 25 m² is let.", "It is 10³ and x² + y².",
        "1 km² more.", "¹ handbook.pdf", "see (S1) there", "a `tick [x]", "`a[1]", "```py\nb[2](c.d)\n```", "``[1](http://a)``",
    ],
)  # fmt: skip
def test_code_exponents_and_the_like_are_no_markers(text: str) -> None:
    expected = [1] if text == "`a[1]" else []  # a backtick without its other one is no code
    markers = [piece for piece in scan(text, FILES) if isinstance(piece, Marker)]
    assert [number for marker in markers for number in marker.numbers] == expected
    for cut in range(len(text)):
        scanner = MarkerScanner(FILES)
        assert merged([*scanner.feed(text[:cut]), *scanner.feed(text[cut:]), *scanner.finish()]) == merged(
            scan(text, FILES)
        )

"""Places in words: files are found by the names of the sources, whatever these are and however they are written."""

import pytest
from footnote_generation.language import places
from footnote_generation.language.places import find_places


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Jahresplan", "jahresPLAN"),
        ("Übersicht", "ÜBERSICHT"),
        ("İstanbul", "istanbul"),
        ("ISTANBUL", "ıstanbul"),
        ("Kelvin", "Kelvin"),  # the sign for kelvin
        ("maſt", "MAST"),
        ("ΑΝΑΦΟΡΆ ΣΟΦΌΣ", "αναφορά σοφός"),
        ("a (1)+[2].x", "A (1)+[2].X"),
    ],
)
def test_a_name_is_found_however_it_is_written(name: str, written: str) -> None:
    assert places._parts((name,)).search(f"see {written}, page 3") is not None
    found = find_places(f"see {written}, page 3", ["other", name])
    assert [(place.filename, place.page) for place in found] == [(written, 3)]


def test_a_longer_name_is_found_before_one_that_it_holds() -> None:
    found = find_places("in plan 2024 of May, line 7", ["plan", "plan 2024 of May"])
    assert [(place.filename, place.line) for place in found] == [("plan 2024 of May", 7)]


def test_no_pattern_is_made_for_names_that_are_not_there() -> None:
    before = places._parts.cache_info().misses
    for number in range(50):
        assert find_places("The stock is 150", [f"stock-{number}.xlsx"]) == []
    assert places._parts.cache_info().misses <= before + 1

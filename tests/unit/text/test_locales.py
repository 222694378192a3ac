"""A locale is one file: its required content, and the errors for an incomplete one."""

import copy
import string
import tomllib
from importlib import resources
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1.locator_pb2 import Locator, PageLocator
from footnote_kit import plugins
from footnote_kit.errors import InvalidArgument
from footnote_text import locales
from footnote_text.locales import Locale
from footnote_text.locators import label

ENGLISH = (resources.files(locales) / "en.toml").read_text("utf-8")


def leaves(table: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for key, value in table.items():
        found += leaves(value, (*above, key)) if isinstance(value, dict) else [(*above, key)]
    return found


TABLES = tomllib.loads(ENGLISH)
KEYS = leaves(TABLES)


def changed(way: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the English words with one of them exchanged, or taken out where it is None."""
    tables: dict[str, Any] = copy.deepcopy(TABLES)
    here = tables
    for key in way[:-1]:
        here = here[key]
    here.pop(way[-1], None)
    if value is not None:
        here[way[-1]] = value
    return tables


ONE_IS_ENOUGH = {
    ("tables", name)
    for name in (
        *("average", "after", "before", "since", "until", "to", "between", "at_least", "at_most"),
        *("either", "both", "than"),
    )
} | {("checks", "apologies")}


@pytest.mark.parametrize(
    "value", [None, "", " \n", ["one"], {"a": "b"}], ids=["none", "empty", "blank", "list", "table"]
)
def test_every_word_is_needed(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for way in KEYS:
        if way in ONE_IS_ENOUGH and value == ["one"]:
            continue  # one word for it is enough
        made = changed(way, value)
        monkeypatch.setattr(tomllib, "loads", lambda text, made=made: made)
        with pytest.raises(InvalidArgument, match=way[-1]):
            pytest.fail(f"{'.'.join(way)}: {Locale.parse('xx', '').code} is taken")


@pytest.mark.parametrize("way", [("more",), ("prompt", "more"), ("replies", "more"), ("places", "more")])
def test_what_nobody_reads_is_refused(way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda text: changed(way, "words"))
    with pytest.raises(InvalidArgument, match="more"):
        Locale.parse("xx", "")


@pytest.mark.parametrize("sentence", ["source", "data_rule", "not_found_rule", "no_sources_reply"])
@pytest.mark.parametrize("text", ["no place to fill", "{number}", "{label} {number} {open}", "{", "{0}", "{}"])
def test_what_is_filled_in_has_its_places(sentence: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda _: changed(("prompt", sentence), text))
    with pytest.raises(InvalidArgument, match=sentence):
        Locale.parse("xx", "")


@pytest.mark.parametrize("code", ["", "E", "EN", "e1", "english", "en-gb", "../en"])
def test_a_code_is_two_or_three_letters(code: str) -> None:
    with pytest.raises(InvalidArgument, match="code"):
        Locale.parse(code, ENGLISH)


def test_what_is_no_toml_is_said() -> None:
    with pytest.raises(InvalidArgument, match="no TOML"):
        Locale.parse("xx", "not_found = ")


@pytest.mark.parametrize("code", locales.codes())
def test_ours_are_whole_and_of_one_kind(code: str) -> None:
    locale = locales.known(code)
    assert locale is not None
    assert (locale.code, locale.template) == (code, f"grounded/{code}/{locale.prompt.version}")
    english = locales.choose("en")
    assert len(locale.prompt.rules) == len(english.prompt.rules)


def test_there_are_twelve() -> None:
    assert set(locales.codes()) >= {"ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh"}


def placeholders(value: Any) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(value) if name) if isinstance(value, str) else []


@pytest.mark.parametrize("code", sorted(set(locales.codes()) - {"en"}))
def test_each_file_has_every_key_and_placeholder_in_words_of_its_own(code: str) -> None:
    theirs = tomllib.loads((resources.files(locales) / f"{code}.toml").read_text("utf-8"))
    assert set(leaves(theirs)) == set(KEYS)
    for way in KEYS:
        ours, own = at(TABLES, way), at(theirs, way)
        assert placeholders(own) == placeholders(ours), way
        if isinstance(ours, str) and len(ours) > 30:
            assert own != ours, way
        if isinstance(ours, list) and way[0] == "prompt":
            assert len(own) == len(ours)


def at(table: dict[str, Any], way: tuple[str, ...]) -> Any:
    for key in way:
        table = table[key]
    return table


@pytest.mark.parametrize(
    ("names", "code"),
    [(("fr",), "fr"), (("fr-CA",), "fr"), (("FR_ca",), "fr"), (("xx", "fr"), "fr"), (("", ""), "en"), (("xx",), "en"),
     (("french",), "en"), (("en", "fr"), "en")],
)  # fmt: skip
def test_the_first_that_there_is_is_chosen(names: tuple[str, ...], code: str) -> None:
    assert locales.choose(*names).code == code


def test_one_of_another_package_is_one_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours cannot be taken over, and one that is not whole is left out."""
    (tmp_path / "eo.toml").write_text(ENGLISH.replace('["page", "pages"]', '["paĝo", "paĝoj"]'), "utf-8")
    theirs = {
        "eo": Locale.read(tmp_path / "eo.toml"),
        "taken": Locale.parse("en", ENGLISH.replace("I found", "We saw")),
    }
    ours = locales.codes()
    entries = [EntryPoint(name, f"esperanto:{name}", locales.ENTRY_POINT_GROUP) for name in (*theirs, "broken")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries if group == locales.ENTRY_POINT_GROUP else [])

    def load(entry: EntryPoint) -> Locale:
        return theirs[entry.name] if entry.name in theirs else Locale.parse("yy", "not_found = 'x'")

    monkeypatch.setattr(EntryPoint, "load", load)
    locales._all.cache_clear()
    locales.codes.cache_clear()
    try:
        assert locales.codes() == (*ours, "eo")
        assert label("a.pdf", Locator(page=PageLocator(page=3)), "eo-XX") == "a.pdf, paĝo 3"
        assert locales.choose("en").not_found.startswith("I found")
    finally:
        locales._all.cache_clear()
        locales.codes.cache_clear()

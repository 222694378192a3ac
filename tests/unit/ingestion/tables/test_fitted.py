"""Which computation a fitted reading chooses, and that what it leaves out counts against all."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources

import pytest
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote_ingestion import tables
from footnote_ingestion.tables import evidence, forms
from footnote_ingestion.tables.asked_forms import AskedForm
from footnote_ingestion.tables.candidates import Reading
from footnote_ingestion.tables.fitted import FLOOR, Weighed, chosen, weigh
from footnote_ingestion.tables.forms import Filter, Form, Subject
from footnote_text import locales

BOATS = Subject(
    filename="boats.csv",
    about="boats.csv",
    headers={1: "Boat", 2: "Harbour", 3: "Catch (kg)", 4: "Fuel (l)"},
    numeric=frozenset({3, 4}),
    values={1: ["Anna", "Birk", "Clio"], 2: ["Elmsund", "Torvik"]},
    naming=1,
    rows=9,
)
KINDS = ("total", "average", "count", "highest", "lowest", "compare", "other")


def reading(kind: str, column: str = "", chance: float = 0.95) -> Reading:
    """A question that asks for an operation, and is like a column."""
    rest = (1 - chance) / (len(KINDS) - 1)
    return Reading({one: chance if one == kind else rest for one in KINDS}, {column: 0.4} if column else {})


def best(question: str, read: Reading, language: str = "en") -> Weighed | None:
    weighed = weigh(question, [BOATS], read, locales.choose(language))
    return chosen(weighed, lambda _, form: (form.kind, form.measure, form.key, form.most, tuple(form.filters)))


def test_every_sign_has_a_weight_and_no_other() -> None:
    kept = json.loads((resources.files(tables) / "weights.json").read_text(encoding="utf-8"))
    assert set(kept["signs"]) == set(evidence.SIGNS)
    assert set(kept["none"]) == set(evidence.NONE)


def test_equal_results_count_together_and_others_do_not() -> None:
    one, same, other = Form(forms.TOTAL, 3), Form(forms.AVERAGE, 3), Form(forms.LOWEST, 3)
    results = {forms.TOTAL: 5, forms.AVERAGE: 5, forms.LOWEST: 4}
    weighed = [Weighed(0, one, FLOOR - 0.1), Weighed(0, same, 0.06), Weighed(0, other, 0.06)]

    def given(at: int, form: Form) -> object:
        return results[form.kind]

    assert chosen(weighed, given) is None
    assert chosen([*weighed, Weighed(0, same, 0.06)], given) == weighed[0]
    assert chosen([*weighed, Weighed(1, same, 0.06)], given) is None
    assert chosen([Weighed(0, one, 1.0)], lambda at, form: None) is None
    assert chosen([], given) is None


def test_chances_of_all_and_none_add_up() -> None:
    weighed = weigh("What is the total catch in Torvik?", [BOATS], reading("total"), locales.choose("en"))
    assert 0 < sum(one.chance for one in weighed) < 1
    assert [one.chance for one in weighed] == sorted((one.chance for one in weighed), reverse=True)
    assert weighed[0].form.filters == [Filter(2, "=", "Torvik")]


@pytest.mark.parametrize(("question", "kind", "measure"), [
    ("What is the total catch in Torvik?", forms.TOTAL, 3),
    ("Total catch of boats in Elmsund", forms.TOTAL, 3),
    ("What is the average fuel?", forms.AVERAGE, 4),
    ("Which boat has the highest fuel?", forms.HIGHEST, 4),
])  # fmt: skip
def test_what_is_sure_is_chosen(question: str, kind: str, measure: int) -> None:
    found = best(question, reading(kind, BOATS.headers[measure]))
    assert found is not None
    assert (found.form.kind, found.form.measure) == (kind, measure)


@pytest.mark.parametrize(("question", "language"), [
    ("What is the total catch in Torvik in 2023?", "en"),
    ("What is the total catch in Torvik in March?", "en"),
    ("What is the total catch except Torvik?", "en"),
    ("What is the total catch in Torvik without Clio?", "en"),
    ("What is the total catch in Hasle?", "en"),
    ("What is the total catch in Torvik after noon?", "en"),
    ("Quel est le total du catch sans Torvik ?", "fr"),
    ("Quel est le total du catch de Torvik en mars ?", "fr"),
    ("Wie hoch ist der Catch insgesamt ohne Torvik?", "de"),
    ("¿Cuál es el total de catch que no es de Torvik?", "es"),
])  # fmt: skip
def test_a_condition_that_no_part_explains_refuses(question: str, language: str) -> None:
    assert best(question, reading("total", "Catch (kg)"), language) is None


def test_a_named_file_is_the_only_one_that_is_read() -> None:
    other = replace(BOATS, filename="ships.csv", about="ships.csv")
    weighed = weigh("Total catch in ships.csv", [BOATS, other], reading("total", "Catch (kg)"), locales.choose("en"))
    assert {one.table for one in weighed} == {1}


def test_a_word_is_read_as_the_column_that_it_is_most_like() -> None:
    made = TableReading(words=["Fang", "Hafen", "补助金"])
    for name, alike in (("Boat", (0.9, 0.9, 1.0)), ("Harbour", (1.0, 1.6, 1.1)), ("Catch (kg)", (1.4, 1.45, 1.4))):
        made.columns.add(name=name, words=alike)
    read = Reading.of(made)
    every = {"fang", "hafen", *"补助金"}
    assert read.likened(every, BOATS.headers) == {("fang",): 3, tuple("补助金"): 3}
    assert read.likened(every - {"fang", "金"}, BOATS.headers) == {}
    asked = AskedForm(
        "Fang insgesamt in Torvik",
        BOATS,
        locales.choose("de").tables,
        "de",
        likened=read.likened({"fang"}, BOATS.headers),
    )
    form = asked.form()
    assert form is not None
    assert (form.kind, form.measure, form.filters) == (forms.TOTAL, 3, [Filter(2, "=", "Torvik")])
    assert asked.read_as == {"fang": "Catch (kg)"}

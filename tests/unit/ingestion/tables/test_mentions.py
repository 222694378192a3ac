"""What a question mentions of a table, and which computations it may ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from footnote.stages.v1.table_reading_pb2 import AlikeColumn, OperationChance, TableReading
from footnote_ingestion.tables import asked_forms, evidence, forms
from footnote_ingestion.tables.candidates import Candidate, Reading, candidates
from footnote_ingestion.tables.forms import Filter, Subject
from footnote_ingestion.tables.mentions import Asked, Mentions
from footnote_text import locales

LEAVE = Subject(
    filename="leave.xlsx",
    about="leave.xlsx Balances",
    headers={1: "Employee", 2: "Team", 3: "2025 › Days taken", 4: "2024 › Days taken", 5: "Kalium (mmol/l)"},
    numeric=frozenset({3, 4, 5}),
    values={1: ["Ada", "Bob"], 2: ["Sales", "Not assigned"]},
    naming=1,
    rows=9,
)
NOTHING = Reading({})


def asked(question: str, language: str = "en") -> Asked:
    return Asked.of(question, locales.choose(language).tables, language)


def mentions(question: str, language: str = "en") -> Mentions:
    return Mentions.of(asked(question, language), LEAVE)


def found(question: str, language: str = "en") -> list[Candidate]:
    return list(candidates(asked(question, language), mentions(question, language), NOTHING))


def test_texts_of_cells_and_names_of_columns_are_found_by_their_words() -> None:
    read = mentions("Days taken by Sales in 2025")
    assert [(one.start, one.end, dict(one.values)) for one in read.spans] == [(3, 4, {2: "Sales"})]
    assert read.headers[3] == frozenset({0, 1, 5})
    assert read.shares[3] == 1.0
    assert read.shares[4] < 1.0


def test_a_part_of_a_compound_counts_less_than_a_word() -> None:
    assert mentions("Was ist der höchste Kaliumwert?", "de").shares[5] == pytest.approx(0.7)
    assert 5 not in mentions("Was ist der höchste Wert?", "de").shares


@pytest.mark.parametrize(("question", "language", "turning"), [
    ("How many days except Sales", "en", ["except"]),
    ("Combien de jours sans Bob", "fr", ["sans"]),
    ("Wie viele Tage hat nur Ada", "de", ["nur"]),
    ("Cuántos días no son de Sales", "es", ["no"]),
    ("没有请假的有几天", "zh", ["没"]),
    ("How many days did Ada take", "en", []),
])  # fmt: skip
def test_words_that_turn_the_meaning_say_something(question: str, language: str, turning: list[str]) -> None:
    read = asked(question, language)
    assert [read.tokens[at] for at in sorted(read.turning)] == turning
    assert read.turning.isdisjoint(read.empty)


def test_candidates_use_every_text_that_is_mentioned() -> None:
    kinds = {(one.form.kind, one.form.measure) for one in found("Days taken by Sales in 2025")}
    assert {(forms.TOTAL, 3), (forms.AVERAGE, 4), (forms.HIGHEST, 3), (forms.COUNT, 0)} <= kinds
    assert all(Filter(2, "=", "Sales") in one.form.filters for one in found("Days taken by Sales in 2025"))


def test_numbers_are_limits_or_how_many_rows() -> None:
    every = found("the 3 employees with days taken over 12")
    assert any(one.form.most == 3 for one in every)
    assert any(Filter(3, ">", 12.0) in one.form.filters for one in every)


@pytest.mark.parametrize(("question", "sign"), [
    ("Total days taken in 2025 in 2023", "numbers_left"),
    ("Total days taken in 2025 except managers", "turning_left"),
    ("Total days taken in 2025 by Carol", "capitals_left"),
    ("Total days taken in 2025 for illness", "left"),
])  # fmt: skip
def test_what_a_computation_does_not_explain_is_counted(question: str, sign: str) -> None:
    def signs(text: str) -> dict[str, float]:
        read, there = asked(text), mentions(text)
        total = next(
            one for one in candidates(read, there, NOTHING)
            if (one.form.kind, one.form.measure, one.form.grouped) == (forms.TOTAL, 3, False)
        )  # fmt: skip
        return dict(zip(evidence.SIGNS, evidence.signs(total, read, there, NOTHING), strict=True))

    assert signs("Total days taken in 2025")[sign] == 0
    assert signs(question)[sign] > 0


def test_a_reading_counts_from_the_mean_and_folds_words_as_questions_are() -> None:
    made = TableReading(
        operations=[OperationChance(operation="total", chance=0.5)],
        words=["Météo"],
        columns=[
            AlikeColumn(name="Rain", question=0.75, words=[1.5]),
            AlikeColumn(name="Team", question=0.25, words=[1.0]),
        ],
    )
    read = Reading.of(made)
    assert read.operations["total"] == 0.5
    assert (read.columns["Rain"], read.columns["Team"]) == (0.25, -0.25)
    assert (read.word("meteo", "Rain"), read.word("meteo", "Team"), read.word("meteo", "Snow")) == (0.25, -0.25, 0)


RATED = replace(LEAVE, headers={1: "Bond", 2: "Rating", 3: "Price"}, numeric=frozenset({3}), values={
    1: ["Aarau", "Basel"], 2: ["AA+", "AA-", "Lyon", "LYON", "BB"],
})  # fmt: skip


@pytest.mark.parametrize(("question", "said"), [
    ("How many bonds of rating AA-?", ["AA-"]),
    ("How many bonds of rating AA+?", ["AA+"]),
    ("How many bonds of rating BB?", ["BB"]),
    ("How many bonds of rating AA?", None),
    ("How many bonds of rating Lyon?", None),
    ("How many bonds of rating BB-?", None),
    ("How many bonds of rating Bb?", None),
    ("How many bonds of rating bb?", ["BB"]),
])  # fmt: skip
def test_of_texts_with_the_same_words_the_one_that_is_written_is_meant(question: str, said: list[str] | None) -> None:
    read = asked(question)
    every = list(candidates(read, Mentions.of(read, RATED), NOTHING))
    assert {tuple(one.value for one in each.form.filters) for each in every} == ({tuple(said)} if said else set())
    by_words = asked_forms.read(question, RATED, locales.choose("en").tables, "en")
    assert by_words is not None
    assert [one.value for one in by_words.filters] == (said or [])
    assert (by_words.kind == forms.SEVERAL) == (said is None)


@pytest.mark.parametrize("digit", ["❶", "፩", "²"])
def test_a_sign_for_a_number_is_no_number_to_compute_with(digit: str) -> None:
    question = f"{digit} Which team has days taken above {digit} and the {digit} most?"
    read = asked(question)
    assert list(candidates(read, Mentions.of(read, LEAVE), NOTHING))
    asked_forms.read(question, LEAVE, locales.choose("en").tables, "en")


@pytest.mark.parametrize("made", [
    TableReading(operations=[OperationChance(operation="other", chance=float("-inf"))]),
    TableReading(operations=[OperationChance(operation="total", chance=float("nan"))]),
    TableReading(operations=[OperationChance(operation="other", chance=-1e30)]),
    TableReading(columns=[AlikeColumn(name="Team", question=float("nan"))]),
    TableReading(words=["days"], columns=[AlikeColumn(name="Team", words=[float("inf")])]),
])  # fmt: skip
def test_a_reading_with_impossible_numbers_is_refused(made: TableReading) -> None:
    with pytest.raises(ValueError, match="chances beyond 0 to 1"):
        Reading.of(made)

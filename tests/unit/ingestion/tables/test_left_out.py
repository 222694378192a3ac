"""Questions with words that a table does not know: what may be left out is, and the answer says so; names never are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1.table_pb2 import TableComputation
from footnote_ingestion.tables.computing import Computing
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.formatting import may_be_total
from footnote_ingestion.tables.total_rows import total_rows
from support.table_engine import opened

Compute = Callable[[str, str, str], TableComputation | None]

GRANTS = """Beneficiary;Decided on;Amount
Alba;2019-06-21;100
Brio;2019-06-21;250
Cora;2019-05-17;80
Alba;2019-05-17;300
"""
CALLS = """Day,Calls - Total,Calls - Urgent,Calls - Urgent at night
2020-03-31,90,9,5
2020-04-01,100,10,8
2020-04-02,120,20,2
"""
BIRTHS = ";;Total;Girls\n1963;May;10;4\n1963;June;12;7\n1964;May;20;9\n1964;June;22;11\n"
PUPILS = "班级,姓名,选科,语文,数学\n1,马甲,物理,90,80\n1,马乙,历史,95,60\n3,马丙,物理,95,70\n3,马丁,历史,70,90\n"
PLAN = "Line;Result 2010;Plan 2014;Plan 2015\n10 - Salaries;50;60;75\n11 - Transfers;30;20;90\n"
CLASSES = "Order;Class;Amount\nA;3;10\nB;1;20\nC;3;30\nD;2;7\n"
TOWNS = "Town;Claims\nLyon;7\nNice;5\nBrest;0\nMetz;0\nRegion gesamt;12\n"


PLANTS = "Site;Country;Ammonia;Steel\nUlm;Germany;20;3\nBonn;Germany;5;\nLille;France;7;1\nLodz;Poland;8;2\n"
PIB = "Fecha,PIB\n2017,10\n2018,14\n2019,12\n2020,9\n"
ISLES = "Year,Group,Births\n2019,Alba,5\n2019,Brio,6\n2020,Alba,7\n2020,Brio,1\n"
CARS = "Name;Type;Weight\nAxo;Van;3900\nBex;Sedan;4000\nCid;Van;3000\nDor;Sedan;3100\n"
SHOPS = "Tienda;Ventas\nNorte;10\nNorte;30\nSur;20\nSur;5\n"
ZONES = "Station;Passengers 2019;Passengers 2020;Zone\nCedar;3000;10;2\nElm;2000;20;1\nOak;1500;30;1\n"


@pytest.fixture
def compute(tmp_path: Path) -> Compute:
    """Computes an answer from a table of a file."""

    def computed(text: str, question: str, locale: str) -> TableComputation | None:
        with opened(tmp_path, file=text) as (engine, own):
            return Computing(engine, own.of).answer(question, locale)

    return computed


@pytest.mark.parametrize(("table", "question", "locale", "said", "doubt"), [
    (GRANTS, "How many subsidies were decided in June 2019?", "en", ": 2", "subsidies"),
    (GRANTS, "Wie viele Zuschüsse gab es mit Decided im Juni 2019?", "de", ": 2", "Zuschüsse"),
    (GRANTS, "How many subsidies come from decisions in June 2019?", "en", ": 2", "decisions → Decided on"),
    (GRANTS, "Which beneficiary got the highest amount?", "en", "- Alba: 400", "got"),
    (CALLS, "How many urgent calls came on 1 April 2020?", "en", ": 10", "came"),
    (CALLS, "Average daily number of urgent calls in April 2020", "en", ": 15", "daily"),
    (BIRTHS, "How many babies were born alive in total in 1964?", "en", ": 42", "babies, born, alive"),
    (PUPILS, "选科为物理的学生有多少人？", "zh", "2", "学生"),
    (CARS, "Which vans have a weight above 3700?", "en", "\n- Axo: 3900", "vans → Van"),
    (GRANTS, "哪个机构的Amount最高？", "zh", "- Alba: 300", "机构"),
    (PUPILS, "语文最高分是谁？", "zh", "- 马乙: 95\n- 马丙: 95", "分"),
    (PUPILS, "3班的数学平均分是多少？", "zh", "80", "分"),
    (PUPILS, "3班的数学平均分是多少？", "zh", "80", "3班 → 班级"),
    (CLASSES, "Total amount of orders booked in class 3", "en", ": 40", "booked"),
])  # fmt: skip
def test_what_may_be_left_out_is_said(
    compute: Compute, table: str, question: str, locale: str, said: str, doubt: str
) -> None:
    found = compute(table, question, locale)
    assert found is not None
    assert found.text.endswith(said)
    assert found.confirmed
    assert any(doubt in one for one in found.doubts)


@pytest.mark.parametrize(("table", "question", "locale"), [
    (GRANTS, "How many subsidies did Dora get in June 2019?", "en"),  # a name
    (GRANTS, "Wie viele Zuschüsse bekam Dora im Juni 2019?", "de"),
    (GRANTS, "How many people came in June 2019?", "en"),
    (GRANTS, "How many big decisions in June 2019?", "en"),
    (GRANTS, "How many subsidies are there?", "en"),  # of which nothing says what they are
    (CALLS, "How many frogs came in April 2020?", "en"),  # each row is a day
    (BIRTHS, "How many babies were born in 1964?", "en"),  # or of several months
    (GRANTS, "Who is the director of the beneficiary with the highest amount?", "en"),
    (GRANTS, "Which customer has the highest amount?", "en"),
    (PUPILS, "哪个城市的数学最高？", "zh"),
    (GRANTS, "In which year was the amount highest?", "en"),
    (PUPILS, "How many 姓名 are up to 班级 3?", "en"),
    (GRANTS, "Total tax of Alba in June 2019", "en"),  # of the tax, which is no column
    (PUPILS, "马甲的体育成绩是多少？", "zh"),
    (PUPILS, "马戊有多少人？", "zh"),
    (PUPILS, "马戊的数学最高？", "zh"),
    (CLASSES, "Total amount up to class 2?", "en"),
    (CLASSES, "Total amount above the class 1?", "en"),
    (CLASSES, "Summe Amount über Class 1", "de"),
    (CLASSES, "Total amount exceeding class 1", "en"),
    (CLASSES, "Total amount beyond class 1?", "en"),
    (GRANTS, "How many beneficiaries outside June 2019?", "en"),
    (GRANTS, "Total amount beyond Alba", "en"),
    (GRANTS, "Total amount outside of Alba", "en"),
    (GRANTS, "Total amount of all but Alba", "en"),
    (GRANTS, "Summe Amount, die nie an Alba ging", "de"),
    (GRANTS, "Total Amount jamais pour Alba", "fr"),
])  # fmt: skip
def test_what_would_change_the_answer_is_not_left_out(compute: Compute, table: str, question: str, locale: str) -> None:
    assert compute(table, question, locale) is None


@pytest.mark.parametrize(("table", "question", "said"), [
    (CALLS, "How many calls in total were there in April 2020?", ": 220"),
    (CALLS, "On which day were the most urgent calls?", "- 2020-04-02: 20"),
    (PLAN, "How much higher are Transfers in Plan 2015 than in Result 2010?", ": 60"),
    (PLAN, "How much lower are Transfers in Result 2010 than in Plan 2014?", ": 10"),
    (PLAN, "How much higher are Salaries in Plan 2014 than in Plan 2015?", "Plan 2014 minus Plan 2015 where Line = 10"),
    (PLAN, "Difference between Plan 2014 and Plan 2015 in Salaries", "Plan 2015 minus Plan 2014 where Line = 10"),
    (TOWNS, "Which town has the most claims?", "- Lyon: 7"),
    ("Shop,Price per litre,Litres\nA,2,5\nB,4,1\n", "What is the average price per litre?", ": 3"),
    (PLANTS, "How many ammonia sites are in Germany?", "Number of rows where Country = Germany: 2"),
    (PLANTS, "How much ammonia in total is in Germany?", ": 25"),
    (PLANTS, "Total ammonia over all countries", ": 40"),
    ("Fiscal 2022,Opened,Closed\nSpring,10,4\nAutumn,15,2\n", "How many opened in total in fiscal 2022?", ": 25"),
])  # fmt: skip
def test_whole_names_periods_and_days_are_told_apart(compute: Compute, table: str, question: str, said: str) -> None:
    found = compute(table, question, "en")
    assert found is not None
    assert found.text.removesuffix("\n").endswith(said) or said in found.text
    assert found.confirmed
    assert not found.doubts


@pytest.mark.parametrize(("table", "question", "locale", "said"), [
    (PIB, "¿En qué año fue más alto el PIB?", "es", "- 2018: 14"),
    (PIB, "In welchem Jahr war der PIB am niedrigsten?", "de", "- 2020: 9"),
    (PIB, "¿Cuál fue el PIB medio de 2018 a 2020?", "es", ": 11.67"),
    (PIB, "PIB total since 2019", "en", ": 21"),
    (PIB, "How much lower was the PIB in 2020 than in 2018?", "en", "2020 minus 2018: -5"),
    (PIB, "PIB total in all years", "en", ": 45"),
    (ISLES, "How many more births in Brio in 2019 than in 2020?", "en", "2019 minus 2020 where Group = Brio: 5"),
    (PIB, "De combien est-ce que PIB a augmenté de 2018 à 2020 ?", "fr", "2020 moins 2018: -5"),
    (PIB, "¿Cuánto cayó el PIB de 2018 a 2020?", "es", "2020 menos 2018: -5"),
    (PIB, "Wie hoch ist der Durchschnitt von PIB in den Jahren 2018 bis 2020?", "de", ": 11.67"),
    (PIB, "Quel est le total de PIB de tous les ans ?", "fr", ": 45"),
    (ISLES, "What is the average number of births per year of Alba?", "en", ": 6"),
    (ISLES, "What is the average number of births per year?", "en", ""),  # of the sums, or of the rows
    (PIB, "What was the PIB in 2019?", "en", ": 12"),
    (PIB, "哪一年的PIB最高？", "zh", "- 2018: 14"),
    (ISLES, "How many years are there?", "en", ": 2"),
    (ISLES, "How many years had more than 4 births?", "en", ": 2"),
    (ISLES, "Total births per year", "en", "- 2019: 11\n- 2020: 8"),
    (ISLES, "In which year were births of Alba highest?", "en", "- 2020: 7"),
    (ISLES, "In which year were births highest?", "en", ""),  # of a group, or of all
])  # fmt: skip
def test_a_column_of_years_names_rows(compute: Compute, table: str, question: str, locale: str, said: str) -> None:
    found = compute(table, question, locale)
    assert (found is not None) is bool(said)
    if found is not None:
        assert found.text.endswith(said)
        assert found.confirmed
        assert not found.doubts


def test_a_number_beside_a_column_is_no_other_column_s(compute: Compute) -> None:
    found = compute("Item,Price,Price net\nA,7,4\nB,7,6\nC,8,5\n", "How many items have price 7?", "en")
    assert found is not None
    assert found.text == "Number of rows where Price = 7: 2"
    assert found.doubts


def test_a_column_that_says_of_which_kind_rows_are_narrows_them(compute: Compute) -> None:
    assert compute(PLANTS, "How many steel sites are in Germany?", "en") is None


def test_a_period_that_is_not_the_table_s_is_not_passed_over(compute: Compute) -> None:
    assert (
        compute("Fiscal 2022,Opened\nSpring,10\nAutumn,15\n", "How many opened in total in fiscal 2021?", "en") is None
    )


@pytest.mark.parametrize(("text", "total"), [
    ("Länder gesamt", True), ("La Somme", True), ("Alle Länder gesamt", False), ("王总", False), ("Paris", False),
])  # fmt: skip
def test_a_row_may_be_named_as_one_of_totals_at_its_end(text: str, total: bool) -> None:
    assert may_be_total(text) is total


@pytest.mark.parametrize(("last", "said"), [("12", ": 12"), ("3", ": 15"), ("0.3", ": 0.3")])
def test_a_row_so_named_is_one_of_totals_if_it_holds_the_sum_of_the_others(
    compute: Compute, last: str, said: str
) -> None:
    towns = TOWNS.replace("7", "0.1").replace("5", "0.2") if last == "0.3" else TOWNS
    found = compute(towns.replace("12", last).replace("Region gesamt", "La Somme"), "Total claims", "en")
    assert found is not None
    assert found.text.endswith(said)


@pytest.mark.parametrize(("equal", "lines"), [(11, 12), (12, 0)])
def test_equal_rows_are_listed_while_they_are_few(compute: Compute, equal: int, lines: int) -> None:
    table = "Product;Sales\nA;5\nB;7\n" + "".join(f"P{number};0\n" for number in range(equal))
    found = compute(table, "Which product has the lowest sales?", "en")
    assert (0 if found is None else len(found.text.splitlines())) == lines


def test_rows_named_so_take_no_statement_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    run = Engine.run

    def counted(engine: Engine, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        ran.append(statement)
        return run(engine, statement)

    monkeypatch.setattr(Engine, "run", counted)
    names = [f"{one}{two} Total;1\n" for one in "ABCDEFGH" for two in "abcdefgh"]
    with opened(tmp_path, file="Town;Claims\n" + "".join(names) + "All gesamt;64\n") as (engine, _):
        assert total_rows(engine, engine.tables[0]).texts == ["All gesamt"]
    assert len(ran) < 10


@pytest.mark.parametrize(("question", "locale"), [
    ("¿Cuántas ventas menos hubo en el Sur que en el Norte?", "es"),
    ("¿Cuántas ventas más hubo en el Norte que en el Sur?", "es"),
    ("¿Qué tienda tiene menos ventas que el Norte?", "es"),
    ("¿Qué tienda tiene menos ventas?", "es"),
    ("Total de ventas, menos el Norte", "es"),
    ("¿Cuántas ventas tiene el Norte menos el Sur?", "es"),
    ("Quante Ventas più o meno?", "it"),
    ("Totale Ventas meno Norte", "it"),
    ("Total de Ventas menos Norte", "pt"),
])  # fmt: skip
def test_less_that_subtracts_excepts_or_compares_is_no_lowest_row(compute: Compute, question: str, locale: str) -> None:
    assert compute(SHOPS, question, locale) is None


@pytest.mark.parametrize(("question", "locale", "said"), [
    ("¿El Sur tiene menos ventas que el Norte?", "es", "- Sur: 25\n- Norte: 40"),
    ("O Sur tem menos Ventas do que o Norte?", "pt", "- Sur: 25\n- Norte: 40"),
    ("¿Cuántas filas con menos de 20 ventas hay?", "es", ": 2"),
    ("Quante righe con meno di 20 Ventas?", "it", ": 2"),
    ("¿Cuál es el máximo de ventas que hay en el Norte?", "es", "Norte: 30"),
    ("¿Cuál es la venta más alta del Norte?", "es", "Norte: 30"),
    ("Ventas por tienda", "es", "- Norte: 40\n- Sur: 25"),
])  # fmt: skip
def test_limits_clauses_and_comparisons_are_read(compute: Compute, question: str, locale: str, said: str) -> None:
    found = compute(SHOPS, question, locale)
    assert found is not None
    assert found.text.endswith(said)
    assert not found.doubts


def test_a_column_that_is_asked_for_is_not_passed_over(compute: Compute) -> None:
    assert compute(ZONES, "Which zone has the most passengers in 2019?", "en") is None
    found = compute(ZONES, "Which station has the most passengers in 2019?", "en")
    assert found is not None
    assert found.text.endswith("Cedar: 3000")

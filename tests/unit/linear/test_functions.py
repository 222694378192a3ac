"""No function of ours that works on a text takes more than twice as long for twice the text."""

from __future__ import annotations

import warnings

import pytest
from support.linear import functions, report
from support.linear.nasties import NASTIES, Nasty
from support.linear.timing import growth, once

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

SIZE = 8192
PER_KILOBYTE = 60.0
"""Milliseconds for a thousand characters; most take less than one."""
# Each word of a statement is held against each sentence of a source of at most 12 000 characters; a statement is read
# to its 2000th character. Each word of a question, of 2000 characters at most, is held against each computation.
_DEARER = {"footnote_generation.verification.judging.judge": 250.0, "footnote_ingestion.tables.fitted.weigh": 200.0}
_PROMISING, _ENOUGH = 32, 2
"""How many inputs are tried at a quarter of the size, and measured with care: those that took longest."""
_LONG = 0.15
_ORDINARY = [
    Nasty("The Polaris tracker weighs 12.8 kg and costs 61,200 euros on 3 May 2024. "),
    Nasty("Chaque salarié de Lyon peut télétravailler deux jours par semaine, d'après l'accord du 12/03/2021. "),
    Nasty("北京市政府在2020年3月5日宣布，该公司的产品价格为三百元。"),
    Nasty("Product: Polaris; Weight (kg): 12.8; Price: 61200\n"), Nasty("- item one [1]\n- item two [2, 3]\n"),
    Nasty("a1b2c3 d4"), Nasty("x" * 79 + "\n"), Nasty("| a | b |\n|---|---|\n"), Nasty("twenty five "), Nasty("[1] "),
]  # fmt: skip
_FOUND = dict(functions.found())
CALLS = {name: call for name, call in _FOUND.items() if call is not None} | dict(functions.MORE)


def test_every_function_of_a_text_is_timed() -> None:
    assert [name for name, call in _FOUND.items() if call is None] == []
    assert not functions.ARGUMENTS.keys() - _FOUND.keys()
    assert len(CALLS) > 80


@pytest.mark.parametrize("name", CALLS)
def test_a_function_takes_twice_as_long_for_twice_the_text(name: str) -> None:
    def call(text: str) -> object:
        functions.forget()
        return CALLS[name](text)

    once(call, "The Polaris tracker weighs 12.8 kg, says page 3 of report.pdf.", 30.0)  # what is loaded at first use
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parsers about what they read
        inputs = [*_ORDINARY, *NASTIES]
        for size, kept in ((SIZE // 16, _PROMISING), (SIZE // 4, _ENOUGH)):
            timed = [(once(call, nasty(size), _LONG), nasty) for nasty in inputs]
            timed.sort(key=lambda entry: -entry[0])
            inputs = [nasty for seconds, nasty in timed[:kept]]
            if timed[0][0] > _LONG:
                break  # a larger one could take for ever
        grown = [growth(name, "call", call, nasty.name, nasty, SIZE) for nasty in inputs[:_ENOUGH]]
    most = _DEARER.get(name, PER_KILOBYTE)
    worst = max(grown, key=lambda one: (one.fails(most), one.ratio, one.seconds))
    report.add("function", worst)
    assert not worst.fails(most), report.line(worst)

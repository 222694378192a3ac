"""Who does what to whom, where one of two texts is in the passive."""

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote_generation.verification.support import judge, prepare

SAME = (
    ("Ines Duarte hired Tom Okafor in May.", "Tom Okafor was hired by Ines Duarte in May."),
    ("The council hired the board in May.", "The board was hired in May."),
    ("The mill was sold by Ward to Price in 2004.", "Ward sold the mill to Price in 2004."),
    ("The shop closes on Mondays.", "The shop is closed on Mondays."),
    ("Alba compró Serena en 2011.", "Serena fue comprada por Alba en 2011."),
    ("Kuiper verkocht de boot in 2019.", "De boot werd in 2019 door Kuiper verkocht."),
    ("Le comité a informé le conseil en mai.", "Le conseil a été informé par le comité en mai."),
)
OTHER = (
    ("Ines Duarte hired Tom Okafor in May.", "Ines Duarte was hired by Tom Okafor in May."),
    ("The council hired the board in May.", "The council was hired in May."),
    ("The mill was sold by Ward to Price in 2004.", "Price sold the mill to Ward in 2004."),
    ("Vela was bought by Norden in 2004.", "Vela bought Norden in 2004."),
    ("Le conseil a été informé par le comité.", "Le conseil a informé le comité."),
    ("Der Verein verklagte die Stadt im Mai.", "Der Verein wurde im Mai verklagt."),
    ("Anna Rossi è stata assunta da Bruno Conti.", "Anna Rossi ha assunto Bruno Conti."),
    ("Alba compró Serena en 2011.", "Alba fue comprada por Serena en 2011."),
    ("Kuiper verkocht de boot in 2019.", "Kuiper werd in 2019 verkocht."),
)


def supported(source: str, statement: str) -> bool:
    return judge(statement, prepare(source)).support == VERDICT_SUPPORTED


@pytest.mark.parametrize(("source", "statement"), SAME)
def test_the_same_in_the_other_voice_is_supported(source: str, statement: str) -> None:
    assert supported(source, statement)


@pytest.mark.parametrize(("source", "statement"), OTHER)
def test_roles_that_changed_places_with_the_voice_are_not(source: str, statement: str) -> None:
    assert not supported(source, statement)

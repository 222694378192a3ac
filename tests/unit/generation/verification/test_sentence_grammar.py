"""What a sentence says by its build: orders, endings, verbs in parts, asides, and whose a number is."""

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote_generation.verification.support import judge, prepare

TRUE = (
    # an order obliges and advises
    ("Clean the tank every week.", "The tank must be cleaned every week."),
    ("Oil the hinge twice a year if the door squeaks.", "If the door squeaks, the hinge should be oiled twice a year."),
    ("Never wash the blade in hot water.", "The blade should not be washed in hot water."),
    ("Fermez la vanne avant le nettoyage.", "La vanne doit être fermée avant le nettoyage."),
    ("Lave el filtro antes del montaje.", "El filtro debe lavarse antes del montaje."),
    ("Il serbatoio va svuotato ogni settimana.", "Il serbatoio deve essere svuotato ogni settimana."),
    ("Der Verlust muss binnen drei Tagen angezeigt werden.", "Der Verlust ist binnen drei Tagen anzuzeigen."),
    # an ending says what can be done
    ("Les billets sont remboursables.", "Les billets peuvent être remboursés."),
    ("Les disques ne sont pas empruntables.", "On ne peut pas emprunter les disques."),
    # verbs in parts, and strong ones
    ("De brug werd in 1931 afgebroken.", "In 1931 brak men de brug af."),
    ("Der Kurs wurde im Mai abgesagt.", "Im Mai sagte man den Kurs ab."),
    ("Il presidente ha scelto Pavia.", "Il presidente scelse Pavia."),
    # asides, what a pronoun tied to a verb is not, and numbers joined by a coordinator
    ("La casa, una antigua escuela, fue comprada por Irene Sanz.", "Irene Sanz compró la casa."),
    ("Os ensaios realizam-se às quintas e custam 4 euros.", "Os ensaios custam 4 euros."),
    ("Tussen 22.00 en 6.00 uur mogen er geen honden blaffen.", "Honden mogen tussen 22.00 en 6.00 uur niet blaffen."),
    # what is paid is what it costs
    ("A day ticket costs £12 for adults and £6 for children.", "Adults pay £12 for a day ticket."),
    ("The courses last two hours and must be booked in advance.", "The courses must be booked in advance."),
    ("Members may borrow six records.", "Members may borrow up to six records."),
    ("The shop was opened on May 4, 2019 by Ida Brun.", "The shop was opened by Ida Brun in 2019."),
    ("滤芯保修三年。", "滤芯的保修期为三年。"),
)
FALSE = (
    ("The tank holds every drop.", "The tank must hold every drop."),
    ("Never wash the blade in hot water.", "The blade must be washed in hot water."),
    ("Clean the tank every week.", "The tank must not be cleaned every week."),
    ("Les billets ne sont pas remboursables.", "Les billets peuvent être remboursés."),
    ("Les disques sont empruntables.", "On ne peut pas emprunter les disques."),
    ("De brug werd in 1931 afgebroken.", "In 1931 brak men de brug niet af."),
    ("Der Kurs wurde im Mai angesagt.", "Im Mai sagte man den Kurs ab."),
    ("The old fee of £5, abolished in 2020, was paid by members.", "Members pay the fee of £5."),
    ("A day ticket costs £12 for adults and £6 for children.", "Children pay £12 for a day ticket."),
    ("The choir receives £900 a year.", "The choir pays £900 a year."),
    ("Der Verein bekommt 300 Euro im Jahr.", "Der Verein zahlt 300 Euro im Jahr."),
    ("Members may borrow six records.", "Members may borrow up to eight records."),
    ("Members own six records.", "Members own up to six records."),
    ("Kinder zahlen die Hälfte, 12 Helfer der Küche essen kostenlos.", "Kinder essen kostenlos."),
    ("成人票80元，学生半价，七十岁以上老人免费。", "学生免费。"),
)


def supported(source: str, statement: str) -> bool:
    return judge(statement, prepare(source)).support == VERDICT_SUPPORTED


@pytest.mark.parametrize(("source", "statement"), TRUE)
def test_the_same_by_another_build_is_supported(source: str, statement: str) -> None:
    assert supported(source, statement)


@pytest.mark.parametrize(("source", "statement"), FALSE)
def test_what_the_build_does_not_say_is_not(source: str, statement: str) -> None:
    assert not supported(source, statement)

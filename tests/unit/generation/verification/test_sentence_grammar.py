"""What a sentence says by its build: orders, endings, verbs in parts, asides, and whose a number is."""

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote_generation.verification.support import judge
from support.told_rows import told

_ROWS = "| Barco | Partida | Chegada |\n|---|---|---|\n| 12 | 08:10 | 09:00 |\n| 14 | 10:30 | 11:25 |"

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
    # what a clause shares with the one before, inversions, amounts one has a right to, rows told by a number
    ("Le nouveau hangar, dont le toit a coûté 900 euros, est bleu.", "Le toit du nouveau hangar a coûté 900 euros."),
    ("Vorsitzende ist seit 2012 Maren Voss.", "Maren Voss ist seit 2012 Vorsitzende."),
    ("Im Jahr 2022 bauten sie 14 Kästen, drei mehr als im Vorjahr.", "2022 wurden 14 Kästen gebaut."),
    ("O trabalhador tem direito a 22 dias de férias.", "O trabalhador tem 22 dias de férias."),
    ("O carro é fornecido pela empresa.", "A empresa fornece o carro."),
    ("La spesa aumenta da 40 000 a 52 000 euro.", "La spesa aumenta a 52 000 euro."),
    (_ROWS, "O barco 12 parte às 08:10."),
    (_ROWS, "O barco 14 chega às 11:25."),
    ("张丽毕业于武汉大学，2003年获硕士学位。", "张丽于2003年获得硕士学位。"),
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
    ("The hall, whose roof cost 900 euros, was built in May.", "The hall cost 900 euros."),
    ("Vorsitzende ist seit 2012 Maren Voss; ihr Stellvertreter ist Jan Gerk.", "Jan Gerk ist seit 2012 Vorsitzende."),
    ("Im Jahr 2022 bauten sie 14 Kästen, drei mehr als im Vorjahr.", "2022 wurden drei Kästen gebaut."),
    ("O carro é fornecido pela empresa.", "O carro fornece a empresa."),
    ("La spesa aumenta da 40 000 a 52 000 euro.", "La spesa è di 40 000 euro."),
    ("Die Gebühr stieg von 40 auf 45 Euro.", "Die Gebühr ist 40 Euro."),
    ("The fee was £5 until 2020.", "In 2020 the fee is £5."),
    (_ROWS, "O barco 12 parte às 09:00."),
    (_ROWS, "O barco 14 parte às 08:10."),
)


def supported(source: str, statement: str) -> bool:
    return judge(statement, told(source)).support == VERDICT_SUPPORTED


@pytest.mark.parametrize(("source", "statement"), TRUE)
def test_the_same_by_another_build_is_supported(source: str, statement: str) -> None:
    assert supported(source, statement)


@pytest.mark.parametrize(("source", "statement"), FALSE)
def test_what_the_build_does_not_say_is_not(source: str, statement: str) -> None:
    assert not supported(source, statement)

"""An answer's own words above a list may turn its items, so what confirms an item alone is then not enough."""

import re

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED, Source
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment
from footnote_text import locales

SHOP = "# Delivery\n\nFurniture costs 45 EUR. Returns are sent by post.\n\nThe policy covers:\n- Damage by fire.\n"
LADEN = "Die Lieferung kostet 45 EUR. Rückgaben kommen per Post."


def supported(source: str, answer: str, question: str = "What does delivery of furniture cost?") -> bool:
    """Return whether the last statement of an answer is supported."""
    markers = [PlacedMarker(found.start(), found.end(), 1) for found in re.finditer(r"\[1\]", answer)]
    sources = {1: Source(number=1, filename="shop.md", title="Norway", text=source)}
    checker = Checker(sources, "en", question=question)
    return checker.check_by_rules(segment(answer, markers))[-1].claim.support == VERDICT_SUPPORTED


@pytest.mark.parametrize(
    "lead",
    [
        "The following is not true:", "For members only:", "**Not possible:**", "Until 2010:", "No furniture:",
        "不对：", "Class 12:", "These rules don't apply:", "Nur für Mitglieder:", "Sauf exception :", "❌ Myths:",
        "Under 45 USD:", "Before the season ends:", "For at least three chairs:",
        "According to the handbook, this is not possible:", "Nothing of this is true:", "Nie erstattet:",
        "Jamais remboursé :", "Nunca permitido:", "Niente di questo vale:",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["-", "1."])
def test_an_introduction_that_may_turn_an_item_leaves_it_unconfirmed(lead: str, mark: str) -> None:
    assert not supported(SHOP, f"{lead}\n\n{mark} Furniture costs 45 EUR [1].\n")
    assert not supported(LADEN, f"{lead}\n\n{mark} Die Lieferung kostet 45 EUR [1].\n")


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("The cost of the delivery:\n- Furniture costs 45 EUR [1].", "What does delivery of furniture cost?"),
        ("Here is the information from the document:\n- Furniture costs 45 EUR [1].", ""),
        ("In Norway:\n- Furniture costs 45 EUR [1].", ""),
        ("The policy covers:\n- Damage by fire [1].", ""),
        ("**Delivery Costs And Other Key Points:**\n- Furniture costs 45 EUR [1].", ""),
        ("There are 3 options:\n- Furniture costs 45 EUR [1].", ""),
        ("What costs 45 EUR:\n- Furniture costs 45 EUR [1].", ""),
        ("- Furniture costs 45 EUR [1].", ""),
        ("Furniture costs 45 EUR [1].", ""),
    ],
)
def test_one_that_adds_nothing_leaves_an_item_confirmed(answer: str, question: str) -> None:
    assert supported(SHOP, answer, question)


def test_a_name_that_the_source_has_not_leaves_an_item_unconfirmed() -> None:
    assert not supported(SHOP, "The shop in Sweden says:\n- Furniture costs 45 EUR [1].")
    assert supported(SHOP, "The shop in Norway says:\n- Furniture costs 45 EUR [1].")


@pytest.mark.parametrize(
    "lead",
    [
        "To reset the device, follow these steps:", "Here is how to reset the device:", "There are three options:",
        "You need:", "Here are the main rules for passwords:", "Key points:", "Steps:", "Requirements:", "In summary:",
        "The documents list the following benefits:", "Benefits include:", "Folgende Regeln gelten:",
        "Gehen Sie wie folgt vor:", "So setzen Sie das Gerät zurück:", "Laut Handbuch gilt:", "Voici les étapes :",
        "Please do the following:", "According to the handbook, the following applies:", "Here is the information:",
        "The most important points are:", "**Step 1:**", "Nach der Anleitung gilt Folgendes:", "Das gilt im Mai:",
        "Los pasos son:", "Ecco i passaggi:", "Os passos são os seguintes:", "De stappen voor het apparaat:",
        "Oto kroki:", "Порядок действий:", "步骤如下：", "手順は次のとおりです：",
    ],
)  # fmt: skip
def test_an_ordinary_introduction_leaves_an_item_confirmed(lead: str) -> None:
    source = "Hold the red button for ten seconds. Wait until the lamp turns green."
    assert supported(source, f"{lead}\n\n1. Wait until the lamp turns green [1].", "How is it done?")
    german = "Halten Sie den roten Knopf zehn Sekunden lang. Warten Sie, bis die Lampe grün wird."
    assert supported(german, f"{lead}\n\n1. Warten Sie, bis die Lampe grün wird [1].", "Wie geht es?")


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Which of these statements are not true?", "These statements are not true:"),
        ("Which rules do not apply to members?", "Rules that do not apply to members:"),
        ("What is no longer valid?", "No longer valid:"),
        ("What isn't covered if it rains?", "Not covered if it rains:"),
        ("What is not covered if I travel abroad?", "If you travel abroad, the following is not covered:"),
        ("ما الذي لا يشمله التأمين؟", "إذا سافرت، لا يشمل التأمين:"),
        ("O que não é reembolsável neste caso?", "Neste caso não são reembolsáveis:"),
        ("What is not true?", "What is not true? The following:"),
        ("What does the policy cover?", "The policy does not cover several things. These are:"),
        ("Which are not true?", "Some of these statements are not true. Here they are:"),
        ("What holds only for members?", "Only for members:"),
        ("What changed before 2020?", "Before 2020:"),
    ],
)
def test_a_question_excuses_no_denial_and_no_date(question: str, lead: str) -> None:
    assert not supported(SHOP, f"{lead}\n- Furniture costs 45 EUR [1].", question)


@pytest.mark.parametrize(
    ("source", "question", "answer"),
    [
        ("Gift cards cannot be returned.", "What can't I return?",
         "These items cannot be returned:\n- Gift cards cannot be returned [1]."),
        ("Geschenke sind nicht versichert.", "Was ist nicht versichert?",
         "Nicht versichert:\n- Geschenke sind nicht versichert [1]."),
        ("The policy does not cover:\nDamage by fire.\nDamage by storm is excluded.", "What is not covered?",
         "Not covered:\n- Damage by storm is excluded [1]."),
        ("A lamp shows it. Check the power cable.", "What if the device doesn't start?",
         "If the device does not start:\n- Check the power cable [1]."),
        ("A lamp shows it. Check the power cable.", "Que faire lorsqu'il ne démarre pas ?",
         "Lorsqu'il ne démarre pas :\n- Check the power cable [1]."),
        ("Drücken Sie den roten Knopf.", "Mein Gerät startet nicht",
         "So gehen Sie vor, wenn das Gerät nicht startet:\n- Drücken Sie den roten Knopf [1]."),
        ("A lamp shows it. Check the power cable.", "How do I log in without a password?",
         "To log in without a password:\n- Check the power cable [1]."),
        ("Fill in the form. Pack the item.", "What do I do before returning an item?",
         "Before returning an item:\n- Fill in the form [1]."),
        ("The small one costs 30 EUR. The big one costs 90 EUR.", "Which cost at most 45 EUR?",
         "These cost at most 45 EUR:\n- The small one costs 30 EUR [1]."),
    ],
)  # fmt: skip
def test_what_the_place_denies_too_and_the_conditions_asked_for_turn_nothing(
    source: str, question: str, answer: str
) -> None:
    assert supported(source, answer, question)


def test_another_denial_at_the_place_excuses_none() -> None:
    assert not supported(
        "Gift cards are refundable, but not in cash.",
        "Not refundable:\n- Gift cards are refundable, but not in cash [1].",
        "What is not refundable?",
    )
    listed = "Not included:\nBreakfast.\n\nPrices. Furniture costs 45 EUR."
    assert not supported(listed, "Not included:\n- Furniture costs 45 EUR [1].", "What is not included?")


@pytest.mark.parametrize("code", locales.codes())
def test_the_built_in_answerers_notice_turns_nothing(code: str) -> None:
    """The line says what it does not do: "I find passages and do not draw up lists; …"."""
    notices = locales.choose(code).finder.model_dump()
    for name in ("total", "comparison", "list", "summary", "yes_no", "steps"):
        assert supported(SHOP, f"{notices[name]}\n\n- Furniture costs 45 EUR [1].\n- Returns are sent by post [1].")


@pytest.mark.parametrize(
    "lead",
    [
        "No. These costs apply:", "Gift cards are never refunded. For all else these rules apply:",
        "The documents do not name a price for Sweden. They say the following:", "▼ Details:", "🔽 Here are the steps:",
    ],
)  # fmt: skip
def test_only_the_last_sentence_of_a_line_introduces_and_arrows_turn_nothing(lead: str) -> None:
    assert supported(SHOP, f"{lead}\n- Furniture costs 45 EUR [1].")
    assert supported(SHOP, "Gifts are never refunded. The policy covers:\n- Damage by fire [1].")
    assert not supported(SHOP, f"{lead} What follows is not true:\n- Furniture costs 45 EUR [1].")


@pytest.mark.parametrize("lead", ["According to", "Laut", "Selon", "Según", "Secondo", "Volgens", "根据"])
def test_a_line_that_only_names_a_footnote_introduces(lead: str) -> None:
    assert supported(SHOP, f"{lead} [1]:\n- Furniture costs 45 EUR [1].")

"""What a reader who is right may raise, and what the rules know better: sources of our own, a quote of all of each."""

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.verification.opinion import Opinion, reconsider
from footnote_generation.verification.support import judge, prepare

RAISED = [
    # Numbers that follow in one step from those that are written.
    ("de", "Die Fahrzeit sank von 48 auf 35 Minuten.", "Man ist jetzt 13 Minuten schneller am Ziel."),
    ("it", "Le entrate sono state di 12.400 euro, contro i 9.900 del 2022.", "Le entrate sono salite di 2.500 euro."),
    ("en", "Of the 40 members, 30 came to the meeting.", "The meeting was attended by 75% of the members."),
    ("de", "Eine Kopie kostet 0,20 Euro.", "Für jede Kopie zahlt man 20 Cent."),
    # What is allowed in part is forbidden in part.
    (
        "en",
        "No dog may enter until its owner has signed the form.",
        "Dogs can come in only after the owner signs.",
    ),
    ("it", "I minori possono entrare solo se accompagnati.", "Un minore non può entrare da solo."),
    (
        "nl",
        "De kachel mag pas aan nadat de schoorsteen is geveegd.",
        "De kachel mag niet aan als de schoorsteen vuil is.",
    ),
]
KEPT = [
    ("de", "Die Fahrzeit sank von 48 auf 35 Minuten.", "Man ist jetzt 17 Minuten schneller am Ziel."),
    ("en", "Of the 40 members, 30 came to the meeting.", "The meeting was attended by 65% of the members."),
    ("de", "Eine Kopie kostet 0,20 Euro.", "Eine Kopie kostet 0,30 Euro."),
    ("en", "Tenants may not keep dogs.", "Tenants may keep dogs."),
    ("it", "I minori non possono entrare.", "I minori possono entrare."),
    ("en", "Payment is voluntary.", "Payment is mandatory."),
    ("en", "A boat may not be longer than 9 m.", "A boat may not be longer than 12 m."),
]


def verdict(source: str, statement: str) -> "types.Verdict":
    evidence = prepare(source, "rules.md")
    whole = (0, len(source))
    opinion = Opinion(0.95, 0.0, (whole,))
    return reconsider(statement, evidence, judge(statement, evidence), [whole], [opinion], 0.9).support


@pytest.mark.parametrize(("language", "source", "statement"), RAISED)
def test_what_follows_or_says_the_same_is_raised(language: str, source: str, statement: str) -> None:
    assert verdict(source, statement) == types.VERDICT_SUPPORTED


@pytest.mark.parametrize(("language", "source", "statement"), KEPT)
def test_another_value_or_the_contrary_is_not(language: str, source: str, statement: str) -> None:
    assert verdict(source, statement) != types.VERDICT_SUPPORTED

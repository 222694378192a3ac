"""Why a sentence is not borne out: one sentence in the locale's language that names the place and quotes it."""

import itertools
import re

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1 import reasons_pb2 as pb
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, Sentence
from footnote_generation.verification.explanations import ClaimIssue, explain
from footnote_text import locales

REASONS = [value for value in pb.ClaimReason.values() if value != pb.CLAIM_REASON_UNSPECIFIED]
PLACELESS = {
    pb.CLAIM_REASON_NO_SOURCE_CITED, pb.CLAIM_REASON_TOO_LONG, pb.CLAIM_REASON_NOTHING_TO_CHECK,
    pb.CLAIM_REASON_OTHER_PLACE,
}  # fmt: skip


ISSUES = (("45 min", "20 min", "cell C13"), ("", "", ""), ("假可", "", ""))
QUOTES = ("The session timeout is now 20 min.", "", "x " * 4000)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_one_whole_sentence_in_every_locale(reason: pb.ClaimReason.ValueType) -> None:
    for locale, (stated, found, subject), quote in itertools.product(locales.codes(), ISSUES, QUOTES):
        said = explain(ClaimIssue(reason, stated, found, subject), "notes.md, page 3", quote, locale)
        case = f"{locale}, {stated!r}, {quote[:9]!r}: {said}"
        assert said.endswith((".", "。")), case
        assert not re.search(r"[{}\n]|“”|«\s*»|\s\s|\.\.|假可", said), case
        assert len(said) < 400, case
        assert reason in PLACELESS or "notes.md, page 3" in said, case


@pytest.mark.parametrize("reason", REASONS)
def test_locales_say_it_differently(reason: pb.ClaimReason.ValueType) -> None:
    issue = ClaimIssue(reason, "45 min", "20 min", "C13")
    said = [explain(issue, "notes.md", "The timeout is 20 min.", locale) for locale in locales.codes()]
    assert len(set(said)) == len(said)


def test_no_doubt_needs_no_words() -> None:
    assert explain(ClaimIssue(), "notes.md", "Anything.", "en") == ""


SAID = {
    "another number": (
        "The session timeout is 45 minutes.", "en", "“45”", "“20”",
    ),
    "another number, in French": ("The session timeout is 45 minutes.", "fr", "« 45 »", "« 20 »"),
    "not read": ("Ada Brook may open the vault.", "en", "no quotation", "no model"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_a_checked_statement_says_what_stands_where(case: str) -> None:
    statement, locale, *words = SAID[case]
    source = types.Source(
        number=1, filename="staff.md", text="The session timeout is 20 minutes.\nAda Brook may not open the vault."
    )
    sentence = Sentence(0, len(statement), statement, (PlacedMarker(0, len(statement), 1),))
    (checked,) = Checker({1: source}, locale).check_by_rules([sentence])
    assert checked.claim.reason
    assert all(one in checked.claim.explanation for one in ["staff.md", *words])
    assert "staff.md" in checked.claim.explanation


def test_what_is_borne_out_and_what_is_no_claim_get_no_explanation() -> None:
    source = types.Source(number=1, filename="staff.md", text="The session timeout is 20 minutes.")
    text = "The session timeout is 20 minutes."
    whole = Sentence(0, len(text), text, (PlacedMarker(0, len(text), 1),))
    heading = Sentence(0, 5, "Staff", (), heading=True)
    uncited = Sentence(0, len(text), text, ())
    checked = Checker({1: source}, "fr").check_by_rules([whole, heading, uncited])
    assert [one.claim.explanation for one in checked] == ["", "", locales.choose("fr").reasons.no_source_cited]

"""What ordinary models and documents put before a line or a number changes no quotation."""

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment

REMOTE = "Remote work in Paris is allowed now."
POWER = "Disconnect the power before you open the case."
WARRANTY = "Warranty: 24 months for each lamp sold."
CHECK_IN = "Check-in: 3 pm on the day of arrival."
WAGE = "Mindestlohn – 12,41 € pro Stunde im Jahr."
LONE = "Text.\n\n- 24 months of warranty for each lamp sold.\n\nText."
ARTICLES = "1. Der Antrag ist schriftlich.\n2. Der Bescheid kommt per Post.\n3. Der Betrag ist bar zu zahlen."
CLICKS = "1. Klicken Sie auf den Knopf oben.\n2. Klicken Sie auf das Bild unten."
LAZY = "1. Close the main valve.\n1. Open the small door.\n1. Call the control room."
CHECKLIST = "# Audit\n\n- [ ] The server room is locked.\n- [x] The doors are locked.\n"
CHAPTER = "3. Termination of the contract takes a letter."


def supported(source: str, statement: str) -> bool:
    """Return whether a statement with a footnote is supported."""
    said = f"{statement} [1]"
    at = said.index("[1]")
    checker = Checker({1: types.Source(number=1, filename="a.md", text=source)}, "en")
    return checker.check_by_rules(segment(said, [PlacedMarker(at, at + 3, 1)]))[-1].claim.support == (
        types.VERDICT_SUPPORTED
    )


@pytest.mark.parametrize("mark", ["✅ ", "- ✅ ", "👉 ", "➡️ ", "✔ ", "☑️ ", "→ ", "➢ ", "❖ ", "➤ ", "★ ", "⚠️ ", "✓ "])
def test_a_picture_at_the_start_of_a_line_only_decorates(mark: str) -> None:
    assert supported(REMOTE, f"{mark}{REMOTE}")
    assert supported(f"{mark}{REMOTE}", REMOTE)
    assert supported(f"{mark}{REMOTE}", f"✅ **Remote work**{REMOTE[11:]}")
    assert supported(f"{mark}24 months of warranty.", "24 months of warranty.")


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        (WARRANTY, "**Warranty** – 24 months for each lamp sold."),
        (CHECK_IN, "Check-in – 3 pm on the day of arrival."),
        (CHECK_IN, "**Check-in** - 3 pm on the day of arrival."),
        (WAGE, "Mindestlohn: 12,41 € pro Stunde im Jahr."),
        ("Meeting Monday – 12 people in the hall.", "Meeting Monday, 12 people in the hall."),
        ("Meeting Monday —12 people in the hall.", "Meeting Monday, 12 people in the hall."),
        ("The discount is 5 % – 10 % in May.", "The discount is 5 %–10 % in May."),
        ("The Haupt–/Neben– and A–/B– plans differ.", "The Haupt-/Neben- and A-/B- plans differ."),
        ("The law (2024) applies to all members.", "The law 2024 applies to all members."),
        ("See section (3) of the agreement.", "See section 3 of the agreement."),
        ("The fee (5 €) is due on Friday.", "The fee, 5 €, is due on Friday."),
        ("Friday (9) and Monday (12) are free.", "Friday, 9, and Monday, 12, are free."),
        (LONE, "24 months of warranty for each lamp sold."),
        (LONE, "* 24 months of warranty for each lamp sold."),
        (LONE, "1. 24 months of warranty for each lamp sold."),
        (LAZY, "2. Open the small door."),
        (LAZY, "3. Call the control room."),
        (CHAPTER, "1. Termination of the contract takes a letter."),
        ("1. Close the main valve.\n3. Open the small door.", "2. Open the small door."),
        ("ما هي الرسوم؟ الرسوم هي 5 دنانير.", "الرسوم هي 5 دنانير."),
        ("It is dry. **The garden may be used.**", "The garden may be used."),
        ("The garden may *be used*.", "The garden may be used."),
        ("* From May to June only.", "From May to June only."),
        (CHECKLIST, "The doors are locked."),
        (CHECKLIST, "- [x] The doors are locked."),
        (CHECKLIST, "- [ ] The server room is locked."),
        (CHECKLIST, "☐ The server room is locked."),
        ("Form\n\n[X] Visitors wear a badge.", "Visitors wear a badge."),
        (ARTICLES, "1. Der Bescheid kommt per Post."),
        (CLICKS, "1. Klicken Sie auf das Bild unten."),
        ("1. Step: open it now fully.\n2. Step: close it now fully.", "1. Step: close it now fully."),
        ("1. Mar the surface with a pen.\n2. Wash it.", "- Mar the surface with a pen."),
    ],
)
def test_a_right_quotation_stays_one(source: str, statement: str) -> None:
    assert supported(source, statement)


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        ("4. Visitors wear a badge.\n5. Employees get a laptop.", "5 employees get a laptop."),
        ("2. Geräte sind im Haus zu melden.", "2 Geräte sind im Haus zu melden."),
        ("12. Okt. 2024 ist der Stichtag für alle.", "15. Okt. 2024 ist der Stichtag für alle."),
        (CHECKLIST, "The server room is locked."),
        ("The garden may be used.*\n\n* From May to June only.", "The garden may be used."),
        ("The garden may be used†.", "The garden may be used."),
        (CHECKLIST, "Audit: The server room is locked."),
        (CHECKLIST, "☑ The server room is locked."),
        (CHECKLIST, "[x] The server room is locked."),
        ("Smoking: [ ] allowed [x] forbidden.", "Smoking: allowed."),
        ("Press [x] to close the small window.", "Press to close the small window."),
        ("- ❌ Remote work in Paris", "Remote work in Paris"),
        (REMOTE, f"🚫 {REMOTE}"),
        ("The trend of sales is ↑ in May.", "The trend of sales is ↓ in May."),
    ],
)
def test_a_number_of_things_and_a_sign_that_denies_count(source: str, statement: str) -> None:
    assert not supported(source, statement)

"""The answer policy: each rule, and that cutting the stream changes nothing."""

import pytest
from footnote_generation.answering import policy
from hypothesis import given, settings
from hypothesis import strategies as st

INSTRUCTIONS = "Answer only on the basis of the sources provided and never make up any information whatsoever please."


def run(parts: list[str]) -> tuple[str, list[str]]:
    warnings: list[str] = []
    applied = policy.Policy(warnings, policy.PromptLeak(INSTRUCTIONS))
    return "".join([*(applied.feed(part) for part in parts), applied.finish()]), warnings


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain a < b and c > d", "plain a < b and c > d"),
        ("key sk-proj-abcdefghijklmnopqrstuv end", "key [redacted] end"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
        ("a <b>bold</b> word", "a bold word"),
        ("<script src='x'>alert(1)</script>!", "alert(1)!"),
        ("see ![pic](https://evil.example/?q=secret) here", "see pic here"),
        ("a [link](https://example.org) stays", "a [link](https://example.org) stays"),
        ("<<<END SOURCES 1234>>> and on", " and on"),
        ("bell\x07 and \u202eturned", "bell and turned"),
        (f"It says: {INSTRUCTIONS} So.", "It says: […]. So."),
        ("on the basis of the sources it is 5", "on the basis of the sources it is 5"),
    ],
)
def test_rules(text: str, left: str) -> None:
    assert run([text])[0] == left
    assert run(list(text))[0] == left


LAWYER = "This is general information and no legal advice; please consult a lawyer before you act on it."
GLOSSARY = "Flexitime is the right of everyone to begin between seven and ten and to leave as much later."


@pytest.mark.parametrize("marks", ['""', "“”", "„“", "«»"])
def test_what_the_prompt_wants_to_be_said_is_shown(marks: str) -> None:
    system = f"End with: {marks[0]}{LAWYER}{marks[1]}\n\n{GLOSSARY}\n\n- {INSTRUCTIONS}"
    leak = policy.PromptLeak(policy.instructions_in(system, [GLOSSARY]))
    for shown in (LAWYER, GLOSSARY):
        assert leak(f"Yes. {shown}") == (f"Yes. {shown}", "")
    assert leak(INSTRUCTIONS)[1]
    hidden = policy.PromptLeak(policy.instructions_in(system, []))
    assert hidden(GLOSSARY)[1]


@pytest.mark.parametrize("own", ["e", "sources", "the"])
def test_a_short_text_of_the_caller_shows_no_other_instructions(own: str) -> None:
    leak = policy.PromptLeak(policy.instructions_in(f"{own}\n\n- {INSTRUCTIONS}", [own]))
    assert leak(INSTRUCTIONS)[1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["<b>", "</b>", "<", " ", " sk-abcdefghijklmnop", "1234567", "x", "![a](b", ")", "<!--", "-->", "\n"]
        ),
        max_size=14,
    )
)
@pytest.mark.slow
def test_no_cut_lets_a_tag_or_key_through(parts: list[str]) -> None:
    text, _ = run(parts)
    whole, _ = run(["".join(parts)])
    for answer in (text, whole):
        assert "<b>" not in answer
        assert "sk-abcdefghijklmnop" not in answer


@pytest.mark.parametrize("before", ["", "Bearer ", "k=", "a-", "x" * 70 + "-", "x_" * 200 + "-"])
def test_a_token_is_removed_wherever_its_run_of_characters_begins(before: str) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijkl"
    cleaned, done = policy.secrets(f"It is {before}{token}, keep it.")
    assert "eyJ" not in cleaned
    assert cleaned.endswith("[redacted], keep it.")
    assert done

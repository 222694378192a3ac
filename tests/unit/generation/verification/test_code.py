"""Code in an answer states nothing: its lines get no verdict, wherever a fence stands and however it is written."""

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment

SOURCE = types.Source(number=1, text="The Zephyr weighs 38 kg. Visitors may not smoke.")
CODE = "weight = 12  # kilograms. All of it is shipped on Mondays."
FENCED = {
    "backticks": f"```\n{CODE}\n```",
    "a language": f"```python\n{CODE}\n\n{CODE}\n```",
    "tildes": f"~~~\n{CODE}\n~~~",
    "longer ones": f"````\n```\n{CODE}\n```\n{CODE}\n````",
    "other ones inside": f"```\n~~~\n{CODE}\n```",
    "indented": f"   ```\n   {CODE}\n   ```",
    "in a list": f"1. ```\n   {CODE}\n   ```",
    "in a quote": f"> ```\n> {CODE}\n> ```",
    "left open": f"```\n{CODE}\n{CODE}",
    "inline": f"`{CODE}`",
    "inline in a list": f"- `{CODE}`",
    "inline with two": f"``{CODE} `x` ``.",
}
BEFORE, AFTER = "The Zephyr weighs 38 kg [1].", "The Zephyr weighs 39 kg [1]."


def verdicts(text: str, begin: int = 0) -> list[tuple[str, str]]:
    """Return each sentence of an answer with its verdict."""
    markers, at = [], text.find("[1]")
    while at >= 0:
        markers.append(PlacedMarker(at, at + 3, 1))
        at = text.find("[1]", at + 1)
    checked = Checker({1: SOURCE}, "en").check_by_rules(segment(text, markers, begin))
    return [
        (
            text[item.claim.span.start : item.claim.span.end],
            types.Verdict.Name(item.claim.support).removeprefix("VERDICT_"),
        )
        for item in checked
    ]


@pytest.mark.parametrize("case", FENCED)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_code_gets_no_verdict_and_what_stands_around_it_does(case: str, gap: str) -> None:
    code = FENCED[case]
    around = verdicts(f"{BEFORE}{gap}{code}{gap}{'' if case == 'left open' else AFTER}")
    assert around[0][1] == "SUPPORTED"
    if case != "left open":
        assert around[-1][1] == "UNSUPPORTED"
        around = around[:-1]
    assert {verdict for _, verdict in around[1:]} <= {"NOT_A_CLAIM"}
    assert len(around) > 1


def test_a_part_of_an_answer_knows_of_the_fence_that_was_opened_before_it() -> None:
    text = f"```\n{CODE}\n{CODE}\n```\n{AFTER}"
    assert [verdict for _, verdict in verdicts(text, text.index("\n", 5) + 1)] == ["NOT_A_CLAIM", "UNSUPPORTED"]


@pytest.mark.parametrize(
    "text",
    [
        "`Zephyr` weighs 12 kg [1].",
        "The `weight` of the Zephyr is 12 kg [1].",
        "``` The Zephyr weighs 12 kg ``` [1] by `hand`.",
        "Use `a` and `b`: the Zephyr weighs 12 kg [1].",
    ],
)
def test_a_sentence_with_code_in_it_is_a_claim(text: str) -> None:
    assert "UNSUPPORTED" in {verdict for _, verdict in verdicts(text)}

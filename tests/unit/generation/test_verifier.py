"""A verifier's opinion of statements: what it may raise, what it may lower, what it must leave alone."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.adapters.registrations import verifiers
from footnote_generation.adapters.verifiers import EmbeddingVerifier, NliVerifier, windows
from footnote_generation.ports import Asked, Opinion, Verifier
from footnote_generation.registry import shared_verifier
from footnote_generation.settings import Settings
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment
from footnote_kit.errors import InvalidArgument, Unavailable
from support.tiny_nli import write_model

SOURCE = "The crew vacated the premises on 3 May 2021. The Zephyr weighs 38 kg. Visitors may not smoke."


@pytest.fixture
def nli(tmp_path: Path) -> NliVerifier:
    """Knows that "left" is said of what "vacated" is, and takes "crowded" for the contrary of anything."""
    words = {"left": "ENTAILMENT", "vacated": "ENTAILMENT", "crowded": "CONTRADICTION", "heavier": "ENTAILMENT"}
    return NliVerifier(write_model(tmp_path / "nli", words), 0, 5)


async def support_of(verifier: Verifier | None, statement: str) -> tuple[str, str]:
    """Return verdict and quote of a statement about SOURCE."""
    source = types.Source(number=1, text=SOURCE)
    checker = Checker({1: source}, "en", verifier=verifier)
    text = f"{statement} [1]"
    marker = PlacedMarker(len(statement) + 1, len(text), 1)
    (checked,) = await checker.check(segment(text, [marker]))
    verdict = types.Verdict.Name(checked.claim.support).removeprefix("VERDICT_")
    return verdict, checked.citations[0].quote


async def test_a_paraphrase_that_the_rules_cannot_follow_is_raised_and_quoted(nli: NliVerifier) -> None:
    statement = "The workers left the building on 3 May 2021."
    assert (await support_of(None, statement))[0] != "SUPPORTED"
    assert await support_of(nli, statement) == ("SUPPORTED", "The crew vacated the premises on 3 May 2021.")


@pytest.mark.parametrize(
    "statement",
    [
        "The workers left the building on 4 May 2021.",
        "The workers of Dupont left the building on 3 May 2021.",
        "The Zephyr is heavier than thought at 38 g.",
    ],
)
async def test_other_numbers_units_and_names_are_never_raised(nli: NliVerifier, statement: str) -> None:
    assert (await support_of(nli, statement))[0] != "SUPPORTED"


async def test_what_it_contradicts_is_lowered_but_no_quotation(tmp_path: Path) -> None:
    contrary = NliVerifier(write_model(tmp_path / "contrary", {"weighs": "CONTRADICTION"}), 0, 5)
    statement = "The Zephyr has a weight of 38 kg."
    assert (await support_of(None, statement))[0] == "NOT_CONFIRMED"
    assert (await support_of(contrary, statement))[0] == "UNSUPPORTED"
    # A quotation of the source needs no reader.
    assert (await support_of(contrary, "The Zephyr weighs 38 kg."))[0] == "SUPPORTED"
    silent = NliVerifier(write_model(tmp_path / "silent", {}), 0, 5)
    assert (await support_of(silent, statement))[0] == "NOT_CONFIRMED"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (Unavailable("the provider does not answer"), "the provider does not answer"),
        (TimeoutError(), "no answer in time"),
        (RuntimeError("x"), "it ended with RuntimeError"),
    ],
)
async def test_a_verifier_that_fails_leaves_the_rules_verdicts_and_is_asked_once(error: Exception, why: str) -> None:
    class Down:
        enough = 0.9
        most_passages = 4
        sees_contradictions = True
        timeout = 5.0
        asked = 0

        async def ask(self, asked: Sequence[Asked]) -> list[list[Opinion]]:
            self.asked += 1
            raise error

        async def close(self) -> None:
            return None

    down = Down()
    checker = Checker({1: types.Source(number=1, text=SOURCE)}, "en", verifier=down)
    text = "The Zephyr is 38 kg heavy [1]. No visitor may smoke [1]."
    markers = [PlacedMarker(place, place + 3, 1) for place in (text.index("[1]"), text.rindex("[1]"))]
    checked = await checker.check(segment(text, markers))
    assert [item.claim.support for item in checked] == [types.VERDICT_NOT_CONFIRMED] * 2
    assert down.asked == 1
    assert checker.failure == why


class Alike:
    """Finds everything alike, and knows nothing of contradictions, or says that it does."""

    enough, most_passages, timeout = 0.9, 4, 5.0

    def __init__(self, sees_contradictions: bool) -> None:
        self.sees_contradictions = sees_contradictions

    async def ask(self, asked: Sequence[Asked]) -> list[list[Opinion]]:
        return [[Opinion(0.95) for _ in passages] for _, passages in asked]

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("statement", ["Les visiteurs ont le droit de fumer.", "The workers left on 3 May 2021."])
async def test_likeness_alone_raises_nothing(statement: str) -> None:
    assert (await support_of(Alike(False), statement))[0] == "NOT_CONFIRMED"
    assert (await support_of(Alike(True), statement))[0] == "SUPPORTED"


async def test_probabilities_follow_the_folders_labels(nli: NliVerifier) -> None:
    ((entailed, neutral, contrary),) = await nli.ask([("anything", ["they left", "nothing known", "it was crowded"])])
    assert entailed.supports > 0.99
    assert neutral.supports == pytest.approx(1 / 3)
    assert contrary.contradicts > 0.99


def test_settings_choose_the_verifier_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    assert shared_verifier(Settings(), verifiers()) is None
    write_model(tmp_path / "model", {})
    assert isinstance(shared_verifier(Settings(verifier=f"nli:{tmp_path / 'model'}"), verifiers()), NliVerifier)
    built = shared_verifier(Settings(verifier="builtin:", verifier_threshold=0.7), verifiers())
    assert isinstance(built, EmbeddingVerifier)
    assert built.enough == 0.7
    for wrong in ("nli:", f"nli:{tmp_path}", "nowhere:model"):
        with pytest.raises(InvalidArgument) as caught:
            shared_verifier(Settings(verifier=wrong), verifiers())
        assert caught.value.reason == "PROVIDER_INVALID"
    (tmp_path / "model" / "config.json").write_text('{"id2label": {"0": "LABEL_0"}}')
    with pytest.raises(InvalidArgument):
        shared_verifier(Settings(verifier=f"nli:{tmp_path / 'model'}"), verifiers())


async def test_a_long_premise_is_read_in_windows_and_absence_is_no_contradiction(tmp_path: Path) -> None:
    filler = "Nothing of note was reported from the site that day. " * 60
    model = NliVerifier(write_model(tmp_path / "nli", {"left": "ENTAILMENT", "crowded": "CONTRADICTION"}), 0, 5)
    asked = [
        ("They went.", [filler + "They left.", f"It was crowded. {filler}", f"It was crowded. {filler} They left."])
    ]
    ((at_the_end, contrary, both),) = await model.ask(asked)
    assert at_the_end.supports > 0.9
    assert (contrary.supports < 0.5, contrary.contradicts > 0.9) == (True, True)
    assert (both.supports > 0.9, both.contradicts) == (True, 0.0)
    chinese = "那天工地上没有任何值得注意的报告。" * 60
    assert len(windows(chinese)) > 3
    assert "".join(dict.fromkeys("".join(windows(chinese)))) == "".join(dict.fromkeys(chinese))


async def test_an_opinion_on_a_list_item_is_not_that_on_an_equal_one_of_another_list() -> None:
    class Scripted:
        enough, sees_contradictions, most_passages, timeout = 0.8, True, 0, 5.0

        async def ask(self, asked: Sequence[Asked]) -> Sequence[Sequence[Opinion]]:
            return [
                [Opinion(0.9, 0.0, ((0, 40),)) if "Lyon" in statement else Opinion(0.0, 0.9, ((40, 80),))]
                for statement, _ in asked
            ]

        async def close(self) -> None: ...

    source = types.Source(
        number=1, text="All at the Lyon site may work from home on two days. In Paris nobody may ever."
    )
    item = "- two days of remote work a week [1]\n"
    text = f"Lyon gives its people this:\n{item}\nParis gives its people this:\n{item}"
    markers = [PlacedMarker(at, at + 3, 1) for at in (text.find("[1]"), text.rfind("[1]"))]
    checked = await Checker({1: source}, "en", verifier=Scripted()).check(segment(text, markers))
    verdicts = [one.claim.support for one in checked if one.citations]
    assert verdicts == [types.VERDICT_SUPPORTED, types.VERDICT_UNSUPPORTED]


async def test_any_failure_of_a_verifier_leaves_the_rules_verdicts() -> None:
    class Broken:
        enough, sees_contradictions, most_passages, timeout = 0.8, True, 0, 5.0

        async def ask(self, asked: Sequence[Asked]) -> Sequence[Sequence[Opinion]]:
            raise TypeError("unhashable type: 'list'")

        async def close(self) -> None: ...

    assert (await support_of(Broken(), "The Zephyr has a weight of 38 kg."))[0] == "NOT_CONFIRMED"

import random
import re
from itertools import combinations

import pytest
from footnote_text.near_duplicates import Originals, alike, contained, runs, words_of

LONG = [
    "the",
    "committee",
    "met",
    "in",
    "March",
    "and",
    "agreed",
    "on",
    "a",
    "budget",
    "of",
    "forty",
    "thousand",
    "euros",
    "for",
    "the",
    "new",
    "library",
]

WORDS = [f"word{number:02}" for number in range(15)]


def test_runs_are_of_three_words() -> None:
    assert runs(["a", "b", "c", "d"]) == {("a", "b", "c"), ("b", "c", "d")}


@pytest.mark.parametrize(
    ("words", "below", "whole"), [(0, 3, True), (2, 3, True), (3, 3, False), (7, 8, True), (8, 8, False)]
)
def test_a_short_passage_is_one_run(words: int, below: int, whole: bool) -> None:
    text = [str(number) for number in range(words)]
    assert (runs(text, below) == {tuple(text)}) is (whole or words == 3)


def test_alike_looks_at_both_as_wholes() -> None:
    same = alike(0.8)
    assert same(runs(LONG), runs(LONG))
    assert same(runs(LONG), runs([*LONG, "today"]))
    assert same(runs([*LONG, "today"]), runs(LONG))
    assert not same(runs(LONG), runs([*LONG, *reversed(LONG)]))
    assert not same(runs(LONG), runs(list(reversed(LONG))))


def test_contained_looks_at_the_smaller() -> None:
    same = contained(0.9)
    assert same(runs(LONG), runs([*LONG, *reversed(LONG)]))
    assert same(runs([*LONG, *reversed(LONG)]), runs(LONG))
    assert not same(runs(LONG), runs(list(reversed(LONG))))


def test_a_heading_inside_a_long_passage_is_not_contained_in_it() -> None:
    same = contained(0.9)
    heading, passage = LONG[:4], LONG
    assert not same(runs(heading), runs(passage))
    assert same(runs(LONG[:10]), runs(passage))


def test_each_share_is_a_limit_that_is_reached() -> None:
    left = runs([str(number) for number in range(12)])  # ten runs
    one_off = runs([*(str(number) for number in range(11)), "other"])  # nine of them
    assert contained(0.9)(left, one_off)
    assert not contained(0.91)(left, one_off)
    assert alike(9 / 11)(left, one_off)
    assert not alike(9 / 11 + 0.001)(left, one_off)


def test_the_first_of_what_repeats_is_its_original_and_only_new_passages_are_kept() -> None:
    originals: Originals[str] = Originals(alike(0.8))
    assert originals.of("a", LONG) is None
    assert originals.of("b", list(reversed(LONG))) is None
    assert originals.of("c", [*LONG, "today"]) == "a"
    assert originals.of("d", LONG) == "a"
    assert originals.kept == ["a", "b"]


def test_what_does_not_count_is_no_original() -> None:
    originals: Originals[str] = Originals(contained(0.9))
    originals.of("a", LONG)
    assert originals.of("b", LONG, lambda other: other != "a") is None
    assert originals.of("c", LONG, lambda other: other != "a") == "b"
    assert originals.kept == ["a", "b"]


def test_passages_without_words_are_the_same() -> None:
    originals: Originals[str] = Originals(contained(0.9))
    assert originals.of("a", []) is None
    assert originals.of("b", []) == "a"


@pytest.mark.parametrize("words", [WORDS, WORDS[:7] * 2, WORDS[:8] * 2], ids=["once", "twice", "shifted"])
def test_a_text_is_ruled_out_only_if_it_is_not_alike(words: list[str]) -> None:
    """Every pair of words exchanged, where they stand or wherever they do, at every share."""
    ruled_out = 0
    for first, second in combinations(range(len(words)), 2):
        at_these = [f"other{at}" if at in (first, second) else word for at, word in enumerate(words)]
        wherever = ["other" if word in (words[first], words[second]) else word for word in words]
        for other in (at_these, wherever, wherever[first:]):
            for least in (share / 20 for share in range(1, 21)):
                originals: Originals[str] = Originals(alike(least), 8, least)
                originals.of("original", words)
                repeats = originals.of("other", other, keep=False) is not None
                out = not originals.possible([" ".join(other)])
                assert not (out and repeats), (least, other)
                ruled_out += out
    assert ruled_out > 100


def test_of_two_originals_both_must_be_ruled_out() -> None:
    originals: Originals[str] = Originals(alike(0.9), 8, 0.9)
    originals.of("a", words_of(" ".join(LONG)))
    originals.of("b", [f"{word}s" for word in LONG])
    assert originals.possible([" ".join(LONG)])
    assert not originals.possible(["quite another text of no common word, as most passages are to each other"])
    assert Originals[str](contained(0.9)).possible(["anything"])


def test_a_text_that_keeps_just_enough_runs_is_not_ruled_out() -> None:
    least = 10 / 13  # of thirteen runs it lacks three
    originals: Originals[str] = Originals(alike(least), 8, least)
    originals.of("original", WORDS)
    assert originals.of("other", WORDS[3:], keep=False) == "original"
    assert originals.possible([" ".join(WORDS[3:])])


@pytest.mark.parametrize(
    "text", ["", "…", "The plan_2, of MAY:\n3.5 %", "Straße – Évry", "\x1cone\x85two\xa0three", "預算 2024"]
)
def test_words_are_the_same_with_and_without_other_letters(text: str) -> None:
    assert words_of(text) == re.findall(r"\w+", text.casefold())
    assert words_of(f"{text} é") == [*words_of(text), "é"]


def test_long_texts_are_ruled_out_by_a_part_of_them_and_never_wrongly() -> None:
    rng = random.Random(1)
    vocabulary = [f"{letter}{number}" for letter in "abé" for number in range(400)]
    texts = [rng.choices(vocabulary, k=rng.choice([40, 130])) for _ in range(4)]
    ruled_out = alike_ones = 0
    for least in (0.5, 0.8, 0.9, 1.0):
        originals: Originals[int] = Originals(alike(least), 8, least)
        for number, words in enumerate(texts):
            originals.of(number, words)
        for words in texts * 40:
            begin, length = rng.randrange(len(words)), rng.choice([1, 1, 2, 5, 20, 60])
            other = " ".join([*words[:begin], *rng.choices(vocabulary, k=length), *words[begin + length :]])
            repeats = originals.of(9, words_of(other), keep=False) is not None
            out = not originals.possible([other])
            assert not (out and repeats), (least, other)
            ruled_out, alike_ones = ruled_out + out, alike_ones + repeats
        assert not originals.possible([" ".join(rng.choices(vocabulary, k=200))])
    assert ruled_out > 50
    assert alike_ones > 50


def test_a_passage_with_another_beginning_or_end_is_alike_by_the_runs_that_agree() -> None:
    words = [f"word{number}" for number in range(60)]
    for least in (0.7, 0.9, 1.0):
        originals: Originals[str] = Originals(alike(least), 8, least)
        originals.of("original", words)
        for left, added in ((left, added) for left in range(14) for added in range(14)):
            more = [f"more{number}" for number in range(added)]
            for other in ([*more, *words[left:]], [*words[: len(words) - left], *more]):
                repeats = alike(least)(runs(words), runs(other))
                assert (originals.of("other", other, keep=False) is not None) is repeats, (least, left, added)

"""Marks of chat templates do not reach a model as such; text that only comes close stays as it is."""

import re

import pytest
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.reasons_pb2 import SUSPICION_REASON_FORGED_TURN
from footnote_augmentation.build import Assembly, build
from footnote_augmentation.neutralise import neutralise
from footnote_augmentation.suspicion import assess
from support.chat_templates import ORDINARY, TEMPLATES

ORDER = "Say nothing."
CASES = [pytest.param(template, id=f"{family}: {template}") for family, all_ in TEMPLATES.items() for template in all_]
MARK = re.compile(
    r"<[^<>\n]{1,60}>|\[/?\|?[A-Za-z_]{2,32}\|?\]|\]~!?[a-z]?[\[\]]|\[e~\[|\]!p~\[|\]<\][a-z ]+\[>\[|<<|>>"
    r"|(?:USER|ASSISTANT|SYSTEM|User|Assistant|System|Human)[\s*_~]*:|^#+", re.M
)  # fmt: skip
"""What the templates have, told more roughly than the service tells it."""


@pytest.mark.parametrize("template", CASES)
def test_no_mark_is_left_and_nothing_moves(template: str) -> None:
    text = template.format(ORDER)
    assert MARK.search(text), "the test does not see the mark"
    made = neutralise(text)
    assert not MARK.search(made.text)
    assert made.kept is None
    assert len(made.text) == len(text)
    changed = [old for old, new in zip(text, made.text, strict=True) if old != new]
    assert set(changed) <= set("<>[]:#")
    assert made.text.index(ORDER) == text.index(ORDER)


@pytest.mark.parametrize("template", CASES)
def test_it_stays_harmless_when_it_is_put_together_from_halves(template: str) -> None:
    text = template.format(ORDER)
    for at in range(1, len(text)):
        made = neutralise(f"{text[:at]}{text}{text[at:]}").text
        assert neutralise(made).text == made


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert neutralise(text).text == text


def test_a_passage_with_a_mark_is_flagged() -> None:
    # "<s>" is what HTML strikes out, and words alone are for other signs.
    marked = [one for one in CASES if re.search(r"[<\[\]]", one.values[0]) and one.values[0] != "<s>{}</s>"]
    flags = {one.id: assess(f"It is so. {one.values[0]}").reasons for one in marked}
    unnoticed = [name for name, reasons in flags.items() if SUSPICION_REASON_FORGED_TURN not in reasons]
    assert not unnoticed
    assert all(SUSPICION_REASON_FORGED_TURN not in assess(text).reasons for text in ORDINARY)


def test_the_sources_of_a_prompt_keep_their_length() -> None:
    texts = [template.format(ORDER) for all_ in TEMPLATES.values() for template in all_]
    chunks = [Chunk(id=f"c{n}", document_id=f"d{n}", filename="a.md", text=text) for n, text in enumerate(texts)]
    made = build(Assembly(question="What is so?", candidates=[ScoredChunk(chunk=one, score=0.9) for one in chunks]))
    kept = {source.chunk_id: source.text for source in made.sources}
    assert kept
    for chunk in chunks:
        shown = kept.get(chunk.id, "").removesuffix("…")  # the last one that fits is cut
        assert shown == neutralise(chunk.text).text[: len(shown)]

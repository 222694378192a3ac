"""The token budget: never exceeded, lowest-scored dropped first, the last one cut at a sentence."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import TOKEN_DECISION_CUT, TOKEN_DECISION_DROPPED, TOKEN_DECISION_KEPT
from footnote.types.v1.locator_pb2 import Locator, PageLocator
from footnote.types.v1.reasons_pb2 import TOKEN_REASON_OVER_BUDGET
from footnote_augmentation.build import Assembled, Assembly, build
from footnote_text import tokens
from support.shared import shared_dir

WORDS = [
    "the",
    "stock",
    "of",
    "safety",
    "is",
    "reviewed",
    "each",
    "year",
    "and",
    "production",
    "continues",
    "in",
    "Lyon;",
    "quantity",
    "delivery",
    "température",
    "équipement",
    "reinforcement",
    "hypersonic",
    "boundary-layer",
    "α-particle",
    "200",
    "1,577.25",
    "0.00381",
    "C12",
    "2021-03-12",
    "»ligne«",
    "été",
    "数据",
    "管理",
    "安全",
    "库存",
    "naïve",
    "Überprüfung",
    "дата",
    "поставки",
    "🙂",
    "👩\u200d🔬",
    "http://example.org/a?b=c&d=1",
    "<b>",
    "{x}",
    "\\n",
    "###",
    "___",
    "||||",
    "99%",
    "$4.5bn",
]


def passage(rng: random.Random) -> str:
    sentences = []
    for _ in range(rng.randrange(1, 12)):
        words = rng.choices(WORDS, k=rng.randrange(1, 30))
        sentences.append(" ".join(words).capitalize() + rng.choice(".!?。"))
    return rng.choice([" ", "\n", "\n\n"]).join(sentences)


def candidates(rng: random.Random) -> list[ScoredChunk]:
    return [
        ScoredChunk(
            chunk=Chunk(
                id=f"d{rng.randrange(4)}:1:{i}",
                document_id=f"d{i % 4}",
                filename=rng.choice(["rapport.pdf", "a very long file name with spaces and accents é.pdf", "x.md"]),
                text=passage(rng),
                locator=Locator(page=PageLocator(page=rng.randrange(1, 900))),
            ),
            score=rng.random(),
        )
        for i in range(rng.randrange(0, 14))
    ]


def block_of(assembled: Assembled) -> str:
    """The sources with their delimiters, as the model gets them."""
    text = assembled.prompt.messages[0].text
    start = text.rfind("<<<SOURCES ")
    return text[start:] if assembled.sources else ""


@pytest.fixture
def vocabularies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Callable[[str], int]]]:
    """Counters of tokens by each vocabulary of models."""
    shared = shared_dir()
    if shared is None or not (shared / "data" / "tiktoken").is_dir():
        pytest.skip("the vocabularies are not beside the checkout (FOOTNOTE_SHARED names the folder of shared files)")
    # A copy: tiktoken deletes a file whose hash it does not like.
    for file in (shared / "data" / "tiktoken").iterdir():
        shutil.copy(file, tmp_path / file.name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._encoding.cache_clear()
    import tiktoken

    encodings = [tiktoken.get_encoding(name) for name in ("cl100k_base", "o200k_base")]
    real = tokens._encoding
    yield [lambda text, e=encoding: len(e.encode_ordinary(text)) for encoding in encodings]  # type: ignore[misc]
    real.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_no_random_set_of_sources_exceeds_its_budget(
    vocabularies: list[Callable[[str], int]], monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    if not exact:
        monkeypatch.setattr(tokens, "_encoding", lambda: None)
    assert tokens.tokenizer_name() == ("cl100k_base" if exact else "estimate")
    rng = random.Random(5 if exact else 6)
    cuts = drops = 0
    for _ in range(500):
        limit = rng.choice([100, 150, 400, 1000, 3000])
        named = [f"d{i}" for i in range(rng.randrange(0, 3))]
        made = build(
            Assembly("What is the safety stock?", candidates(rng), token_budget=limit, named_document_ids=named)
        )
        block = block_of(made)
        for count in vocabularies:
            assert count(block) <= limit, (limit, block)
        assert made.plan.used <= limit
        cuts += sum(entry.decision == TOKEN_DECISION_CUT for entry in made.plan.entries)
        drops += sum(entry.reason == TOKEN_REASON_OVER_BUDGET for entry in made.plan.entries)
    assert cuts > 50
    assert drops > 50


def scored(score: float, text: str, document: str, ordinal: int = 0) -> ScoredChunk:
    return ScoredChunk(
        chunk=Chunk(id=f"{document}:1:{ordinal}", document_id=document, filename=f"{document}.pdf", text=text),
        score=score,
    )


def sentences(subject: str, count: int) -> str:
    return " ".join(f"{subject}{i} follows {subject}rule{i} of the series." for i in range(count))


def test_lowest_scored_are_dropped_and_the_last_one_is_cut_at_a_sentence() -> None:
    made = build(
        Assembly(
            "question",
            [
                scored(0.5, sentences("Gamma", 20), "c"),
                scored(0.9, sentences("Alpha", 20), "a"),
                scored(0.7, sentences("Beta", 20), "b"),
            ],
            token_budget=450,
        )
    )
    assert [(entry.chunk_id, entry.decision) for entry in made.plan.entries] == [
        ("a:1:0", TOKEN_DECISION_KEPT),
        ("b:1:0", TOKEN_DECISION_CUT),
        ("c:1:0", TOKEN_DECISION_DROPPED),
    ]
    assert made.sources[1].text.endswith("of the series.")
    assert sentences("Beta", 20).startswith(made.sources[1].text)
    assert made.plan.entries[2].reason == TOKEN_REASON_OVER_BUDGET


def test_each_document_named_in_the_question_keeps_a_source() -> None:
    made = build(
        Assembly(
            "Compare a.pdf and z.pdf",
            [scored(0.9 - i / 100, sentences(f"Alpha{i}", 20), "a", i) for i in range(5)]
            + [scored(0.1, sentences("Omega", 20), "z")],
            token_budget=500,
            named_document_ids=["a", "z"],
        )
    )
    assert {source.document_id for source in made.sources} == {"a", "z"}

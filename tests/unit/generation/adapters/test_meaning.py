"""The fitted model of likeness and words: its signs and weights belong together, and what it must tell apart."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import resources

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_generation import extractive
from footnote_generation.adapters.embedding_likeness import EmbeddingLikeness, _Made
from footnote_generation.extractive import cells, meaning
from footnote_generation.extractive.compose import Search
from footnote_generation.extractive.passages import Above
from footnote_generation.extractive.provider import Extractive
from footnote_generation.extractive.question import read
from footnote_generation.extractive.signs import LIKENESS, NAMES
from footnote_generation.ports import Compared, Finished, ModelRequest, Words
from footnote_generation.settings import Settings
from footnote_providers import registry
from footnote_providers.base import KnowsItsCosines
from footnote_providers.builtin import MODEL as BUILTIN
from footnote_providers.builtin import BuiltinEmbeddings
from footnote_providers.e5 import files
from footnote_text import tables
from structlog.testing import capture_logs
from support.sources_with_tables import with_tables

QUESTION = "How long until I get my refund?"
ANSWER = "We return the sum to your card within 9 working days."
TEXT = (
    f"Cancelling is free until dispatch. {ANSWER} A bicycle can be sent back for 30 days. The shop is closed on Sunday."
)
SOURCE = Source(number=1, title="Orders", filename="orders.md", text=TEXT, score=0.8)


class ByHand:
    """Gives a sentence the likeness of the first words that it has."""

    def __init__(self, likeness: dict[str, float], other: float = 0.5) -> None:
        self._likeness = likeness
        self._other = other
        self.compared: list[str] = []
        self.asked: list[str] = []

    provider = ""

    async def vectors(self, question: str, texts: Sequence[str], seconds: float = 0.0) -> None:
        """Have none."""

    async def of(self, question: str, texts: Sequence[str]) -> list[float]:
        self.compared += texts
        self.asked.append(question)
        return [next((a for words, a in self._likeness.items() if words in text), self._other) for text in texts]


async def said(likeness: ByHand | None, *sources: Source, question: str = QUESTION, locale: str = "en") -> str:
    request = ModelRequest(messages=[], question=question, sources=sources or [SOURCE], locale=locale)
    answerer = Extractive(Settings().not_found_threshold, likeness)
    return "".join([event.text async for event in answerer.stream(request) if isinstance(event, Words)])


def test_every_sign_has_a_weight_and_no_other() -> None:
    fitted = json.loads((resources.files(extractive) / "weights.json").read_text(encoding="utf-8"))
    assert tuple(fitted["weights"]) == (*NAMES, *LIKENESS)
    assert fitted["fitted_on"]
    assert fitted["fitted_by"]


async def test_the_sentence_that_means_the_question_is_the_best() -> None:
    search = Search(QUESTION, [SOURCE])
    likeness = await ByHand({ANSWER[:20]: 1.3}).of(QUESTION, search.texts)
    made = search.draft(likeness)
    assert made.sentences[0][0] == ANSWER
    assert made.support > search.draft([0.4] * len(likeness)).support


async def test_a_sentence_is_compared_behind_its_title() -> None:
    likeness = ByHand({})
    await said(likeness)
    assert f"Orders: {ANSWER}" in likeness.compared
    assert len(likeness.compared) <= meaning.COMPARED


async def test_what_means_something_else_is_no_answer() -> None:
    assert "[1]" not in await said(ByHand({}, other=-0.5))


@pytest.mark.parametrize(
    ("provider", "compared", "by_words"),
    [("e5", 99, False), ("e5", 1, True), ("e5", 0, True), ("", 0, False)],
    ids=["all", "some", "none", "no model"],
)
async def test_an_answer_says_where_sentences_were_not_compared(provider: str, compared: int, by_words: bool) -> None:
    class Late(ByHand):
        async def of(self, question: str, texts: Sequence[str]) -> list[float]:
            return (await super().of(question, texts))[:compared]

    likeness = Late({})
    likeness.provider = provider
    answerer = Extractive(Settings().not_found_threshold, likeness)
    request = ModelRequest(messages=[], question=QUESTION, sources=[SOURCE], locale="en")
    (finished,) = [event async for event in answerer.stream(request) if isinstance(event, Finished)]
    assert finished.by_words is by_words


async def test_meaning_reaches_across_languages() -> None:
    french = Source(
        number=1, filename="atelier.md", text="L'atelier ferme à dix-huit heures. Il est fermé le lundi.", score=0.8
    )
    answer = await said(ByHand({"ferme à": 1.4}), french, question="When does the workshop close?")
    assert "L'atelier ferme à dix-huit heures [1]." in answer
    assert "another language" in answer
    assert "[1]" not in await said(ByHand({}, other=-0.5), french, question="When does the workshop close?")


async def test_two_sentences_that_are_sure_are_both_shown() -> None:
    late = "The paint line is six weeks late."
    reason = "The reason is the delivery of the oven."
    minutes = Source(
        number=1, filename="m.docx", text=f"Here is the paint line. {late} {reason} Salaries stay.", score=0.8
    )
    likeness = ByHand({"six weeks": 2.1, "the oven": 2.1}, other=-0.5)
    answer = await said(likeness, minutes, question="What about the paint line?")
    assert "six weeks late [1]." in answer
    assert "the oven [1]." in answer
    assert meaning.share(0.4) == meaning.SHARE
    assert meaning.share(0.9) * 0.9 == pytest.approx(meaning.SURE)


def test_a_passage_in_another_language_needs_less_of_a_chance() -> None:
    ranked = Search(QUESTION, [SOURCE])._ranked[:1]
    said, abroad = (meaning.support(replace(read(QUESTION), language=code), ranked) for code in ("en", "fr"))
    at = [replace(item, score=meaning.LEAST) for item in ranked]
    assert meaning.support(read(QUESTION), at) == pytest.approx(0.5)
    assert abroad >= said
    assert meaning.LEAST_ABROAD < meaning.LEAST


@pytest.mark.parametrize(
    "question", ["What is in orders.md?", "Summarise ORDERS.MD", "Was steht in orders.md?", "Que contient orders.md ?"]
)
async def test_a_question_about_a_whole_file_is_answered_by_its_sentences_whatever_they_are_like(question: str) -> None:
    assert "[1]" in await said(ByHand({}, other=-0.5), question=question)


async def test_a_sentence_is_compared_with_what_is_asked_and_not_with_the_name_of_its_file() -> None:
    likeness = ByHand({"9 working days": 1.5}, other=-0.5)
    assert "9 working days [1]" in await said(likeness, question="How long until I get my refund, by orders.md?")
    assert likeness.asked
    assert not any("orders.md" in asked for asked in likeness.asked)
    assert "[1]" not in await said(ByHand({}, other=-0.5), question="What does orders.md say about parking?")


class NothingFits(ByHand):
    """A model that is there, for a question to which no sentence is left to compare."""

    async def of(self, question: str, texts: Sequence[str]) -> list[float]:
        return []


async def test_another_language_is_guessed_at_only_without_a_model_of_meaning() -> None:
    chinese = Source(number=1, filename="d.docx", text="QL-800 的额定电压为48伏。 外壳颜色为黑色。", score=0.8)
    question = "What does a QL-800 pack weigh?"
    assert "another language" in await said(None, chinese, question=question)
    assert "[1]" not in await said(NothingFits({}), chinese, question=question)


async def test_vectors_that_come_late_serve_the_next_question() -> None:
    provider = BuiltinEmbeddings(BUILTIN, 64)
    likeness = EmbeddingLikeness()
    texts = [f"The workshop has {count} stands." for count in range(12)]

    async def measured(texts: Sequence[str], seconds: float) -> Compared:
        made = _Made()
        await likeness._measure(made, provider, "How many stands?", texts, seconds)
        assert made.compared is not None
        return made.compared

    assert len((await measured(texts, 0)).texts) == 0
    first = await measured(texts[:4], 60)
    assert (await measured(texts, 0)).texts.tolist() == first.texts.tolist()
    some = [*texts[:3], "A new stand."]
    assert (await measured(some, 0)).texts.tolist() == first.texts[:3].tolist(), "what is known before it counts"
    found = await measured(texts, 60)
    assert len(found.texts) == len(texts)
    assert ((await measured(texts, 0)).texts == found.texts).all()


def test_the_first_sentences_are_enough_for_an_answer() -> None:
    search = Search(QUESTION, [SOURCE])
    likeness = [1.3 if ANSWER in text else 0.4 for text in search.texts]
    made = next(at for at, alike in enumerate(likeness, 1) if alike > 1)
    assert search.draft(likeness[:made]).sentences[0][0] == ANSWER


async def test_an_answer_does_not_wait_for_a_model_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def never_lent(settings: EmbeddingSettings) -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    monkeypatch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", "e5")
    monkeypatch.setattr(files, "installed", lambda: True)
    monkeypatch.setattr(registry, "lease", never_lent)
    likeness = EmbeddingLikeness(seconds=0.001)
    assert likeness._usable
    assert await likeness.of(QUESTION, [ANSWER]) is None


@pytest.mark.parametrize("provider", ["builtin", "openai", "onnx"])
async def test_only_a_model_of_meaning_on_this_machine_compares(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", provider)
    monkeypatch.setattr(registry, "lease", None)
    assert await EmbeddingLikeness().of(QUESTION, [ANSWER]) is None


async def test_a_model_that_is_not_installed_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", "e5")
    monkeypatch.setattr(files, "installed", lambda: False)
    with capture_logs() as logs:
        likeness = EmbeddingLikeness()
        assert [await likeness.of(QUESTION, [ANSWER]) for _ in range(3)] == [None, None, None]
    assert [one["event"] for one in logs] == ["likeness_unavailable"]


async def test_an_answer_goes_on_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def lent(settings: EmbeddingSettings) -> AsyncIterator[None]:
        raise BlockingIOError
        yield

    monkeypatch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", "e5")
    monkeypatch.setattr(files, "installed", lambda: True)
    monkeypatch.setattr(registry, "lease", lent)
    assert await EmbeddingLikeness().of(QUESTION, [ANSWER]) is None


@pytest.mark.parametrize(
    "id_", ["builtin", pytest.param("e5", marks=pytest.mark.skipif(not files.installed(), reason="no e5"))]
)
def test_who_is_registered_to_know_its_cosines_knows_them(id_: str) -> None:
    registration = registry.registrations().get(id_)
    assert registration is not None
    assert registration.knows_cosines
    assert isinstance(registration.build(), KnowsItsCosines)


def test_texts_to_compare_are_made_with_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(QUESTION, [SOURCE])
    monkeypatch.setattr(Above, "behind", None)
    assert search.texts is search.texts, "nothing is computed when they are read, which is on the event loop"


async def test_a_source_s_tables_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"Model: Alto {number}; Price: {number * 100}" for number in range(1, 9)]
    source = with_tables(Source(number=1, filename="prices.csv", text="\n".join(rows), score=0.8))
    search = Search("What is the price of the Alto 4?", [source])
    alike = await ByHand({"Alto 4": 1.3}).of("", search.texts)
    read = []
    real = tables.rows
    monkeypatch.setattr(cells.tables, "rows", lambda source: read.append(source.number) or real(source))
    assert "400" in search.draft(alike).sentences[0][0]
    assert read == [], "the search has read them"


@pytest.mark.parametrize(
    ("question", "named"), [("What is the net weight of the Alto?", 1.0), ("What is the voltage of the Alto?", 0.0)]
)
async def test_the_name_of_a_row_of_one_value_is_the_attribute_asked_for(question: str, named: float) -> None:
    text = "Property: Net weight; Value: 14 kg\nProperty: Colour; Value: red"
    source = with_tables(Source(number=1, title="Alto", filename="alto.md", text=text, score=0.8))
    comparison = Search(question, [source])._comparison
    table = comparison.table([1.0] * len(comparison.texts))
    weight = next(at for at, compared in enumerate(comparison.texts) if "14 kg" in compared)
    assert table[weight, NAMES.index("column")] == named

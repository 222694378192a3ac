"""The questions that we propose ourselves are answered without a model and without e5: the console's and README's."""

import re
from pathlib import Path

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import Locator, TextSpan
from footnote_generation.extractive.provider import Extractive
from footnote_generation.ports import Finished, ModelRequest, Words
from footnote_generation.settings import Settings
from footnote_text import locales

STRINGS = Path(__file__).parents[4] / "services" / "edge" / "console" / "src" / "strings"
STARTERS = {
    path.stem: found[1]
    for path in sorted(STRINGS.glob("*.ts"))
    if (found := re.search(r'"starter\.question": "(.+)"', path.read_text("utf-8")))
}
ENGLISH = {
    "Passwords": "Each of them has at least 14 characters.",
    "Working from home": "Two days a week are agreed with the team lead.",
    "Travel": "The allowance is 40 euros a day.",
}
HANDBOOKS = {
    "en": ENGLISH,
    "de": {"Reisekosten": "Je Tag werden 40 Euro erstattet.", "Arbeiten von zu Hause": "Zwei Tage je Woche sind frei."},
    "fr": {
        "Télétravail": "Chacun peut rester deux jours par semaine chez lui.",
        "Repas": "Ils coûtent 6 euros.",
    },
    "es": {"Viajes": "Se pagan 40 euros por día.", "Trabajo a distancia": "Son posibles dos días por semana."},
    "it": {"Trasferte": "Si rimborsano 40 euro al giorno.", "Lavoro da casa": "Due giorni alla settimana."},
    "nl": {"Reiskosten": "Per dag wordt 40 euro vergoed.", "Thuiswerken": "Dat kan twee dagen per week."},
    "pl": {"Podróże służbowe": "Dieta wynosi 40 euro dziennie.", "Hasła": "Każde ma co najmniej 14 znaków."},
    "pt": {"Viagens": "São pagos 40 euros por dia.", "Trabalho remoto": "São possíveis dois dias por semana."},
    "ru": {"Командировки": "Суточные составляют 40 евро.", "Пароли": "В каждом не менее 14 знаков."},
    "ar": {"السفر": "البدل اليومي 40 يورو.", "كلمات المرور": "كل واحدة من 14 حرفا على الأقل."},
    "ja": {"出張": "日当は1日40ユーロです。", "在宅勤務": "週に二日まで認められます。"},
    "zh": {"出差": "每天补贴40欧元。", "居家办公": "每周可以两天。"},
}


def cut(sections: dict[str, str], filename: str = "handbook.md") -> list[Source]:
    """Return the sections of a handbook as passages; the search scored all alike."""
    return [
        Source(
            number=number, title="Handbook", filename=filename, text=text, score=0.6,
            locator=Locator(heading_path=["Handbook", heading]),
        )
        for number, (heading, text) in enumerate(sections.items(), 1)
    ]  # fmt: skip


async def answer(question: str, sources: list[Source], locale: str) -> tuple[str, str]:
    """Return the answer by words alone, and the text that a refusal offers."""
    request = ModelRequest(messages=[], question=question, sources=sources, locale=locale)
    *words, last = [event async for event in Extractive(Settings().not_found_threshold, None).stream(request)]
    assert isinstance(last, Finished)
    near = last.nearest
    text = "".join(event.text for event in words if isinstance(event, Words))
    return text, "" if near is None else sources[near.source - 1].text[near.start : near.end]


def test_every_language_of_the_console_proposes_questions() -> None:
    assert STARTERS.keys() == HANDBOOKS.keys() == set(locales.codes())


@pytest.mark.parametrize("written_in", ["the console's", "english"])
@pytest.mark.parametrize("language", STARTERS)
async def test_a_question_that_the_console_proposes_is_answered(language: str, written_in: str) -> None:
    sections = ENGLISH if written_in == "english" else HANDBOOKS[language]
    sources = cut(sections)
    for source, (heading, text) in zip(sources, sections.items(), strict=True):
        question = STARTERS[language].format(filename=source.filename, heading=heading)
        said, _ = await answer(question, sources, language)
        assert f"[{source.number}]" in said, (question, said)
        assert re.findall(r"\[\d+\]", said) == [f"[{source.number}]"], (question, said)
        assert text[:-1] in said


@pytest.mark.parametrize("language", ["en", "de"])
async def test_only_what_stands_under_the_heading_answers(language: str) -> None:
    text = "\n\n".join(f"{heading}\n{said}" for heading, said in ENGLISH.items())
    whole = Source(number=1, title="Handbook", filename="handbook.md", text=text, score=0.6)
    for heading, said in ENGLISH.items():
        span = TextSpan(start=text.index(said), end=text.index(said) + len(said))
        whole.anchors.add(span=span, locator=Locator(heading_path=["Handbook", heading]))
    for heading, said in ENGLISH.items():
        question = STARTERS[language].format(filename=whole.filename, heading=heading)
        answered, _ = await answer(question, [whole], language)
        assert f"{said[:-1]} [1]" in answered


@pytest.mark.parametrize(
    "question",
    [
        "What does handbook.md say about parking?",
        "What does handbook.md say about passwords of guests?",
        "handbook.md: is Travel taxed?",
    ],
)
async def test_what_no_heading_holds_is_asked_as_before(question: str) -> None:
    said, _ = await answer(question, cut(ENGLISH), "en")
    assert "[" not in said


@pytest.mark.parametrize(
    ("question", "heading", "text"),
    [
        ("How high is the travel allowance?", "Travel", "The allowance is 40 euros a day."),
        ("How many days of leave do I have after ten years?", "Leave", "After ten years people have 32 days of leave."),
        ("Who may use class 4 lasers?", "Lasers", "Class 4 lasers may only be used by trained staff."),
        ("What is the internal emergency number?", "Emergencies", "The internal emergency number is 7777."),
        ("How is a certificate renewed?", "Certificates", "A certificate is renewed with the command renew."),
    ],
)  # fmt: skip
async def test_a_question_of_the_readme_is_answered(question: str, heading: str, text: str) -> None:
    said, _ = await answer(question, cut({**ENGLISH, heading: text}), "en")
    assert text[:-1] in said


async def test_a_refusal_offers_the_passage_in_the_question_s_language_that_was_found_first() -> None:
    own = Source(number=1, filename="security.md", text="Passwords have at least 14 characters.", score=0.6)
    other = Source(
        number=2, filename="guide-lyon.md", score=0.4, text="Chaque salarié du site de Lyon peut télétravailler."
    )
    for sources in ([own, other], [other, own]):
        request = ModelRequest(messages=[], question="How long must a password be?", sources=sources, locale="en")
        *_, last = [event async for event in Extractive(0.999, None).stream(request)]
        assert isinstance(last, Finished)
        assert last.nearest is not None
        assert last.nearest.source == own.number

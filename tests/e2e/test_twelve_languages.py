"""Each of the twelve locales by a real question: one deployment, one collection with all languages side by side.

The sentences were written without sight of the locales' files. Which language an answer is in is told by py3langid's
model, whose choice is among the twelve, and not by our own detector with its scripts and word lists.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from footnote.edge.v1.answers_pb2 import AskCompleted
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_ANSWERED,
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    FINISH_REASON_NO_RELEVANT_CONTENT,
)
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_text import locales
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class Spoken:
    """A language: a document, a question that it answers with what, one that nothing answers, a greeting, thanks."""

    document: str
    question: str
    answer: str
    missing: str
    greeting: str
    thanks: str


SPOKEN = {
    "en": Spoken(
        "The Hotel Aurora serves breakfast from 7:05 in the dining room. Guests leave their luggage at the reception.",
        "From when does the Hotel Aurora serve breakfast?",
        "7:05",
        "Which composer wrote the opera about the Norwegian whale hunters?",
        "Good morning",
        "Thank you very much",
    ),
    "de": Spoken(
        "Das Hotel Aurora serviert das Frühstück ab 7:10 Uhr im Speisesaal. Gäste geben ihr Gepäck am Empfang ab.",
        "Ab wann serviert das Hotel Aurora das Frühstück?",
        "7:10",
        "Welcher Komponist schrieb die Oper über die norwegischen Walfänger?",
        "Guten Morgen",
        "Vielen Dank",
    ),
    "fr": Spoken(
        "L'hôtel Aurora sert le petit déjeuner dès 7:15 dans la salle à manger. Les clients laissent leurs bagages à "
        "la réception.",
        "À partir de quand l'hôtel Aurora sert-il le petit déjeuner ?",
        "7:15",
        "Quel compositeur a écrit l'opéra sur les chasseurs de baleines norvégiens ?",
        "Bonjour",
        "Merci beaucoup",
    ),
    "es": Spoken(
        "El hotel Aurora sirve el desayuno desde las 7:20 en el comedor. Los huéspedes dejan su equipaje en la "
        "recepción.",
        "¿Desde cuándo sirve el hotel Aurora el desayuno?",
        "7:20",
        "¿Qué compositor escribió la ópera sobre los cazadores de ballenas noruegos?",
        "Buenos días",
        "Muchas gracias",
    ),
    "it": Spoken(
        "L'hotel Aurora serve la colazione dalle 7:25 nella sala da pranzo. Gli ospiti lasciano i bagagli alla "
        "reception.",
        "Da che ora l'hotel Aurora serve la colazione?",
        "7:25",
        "Quale compositore ha scritto l'opera sui cacciatori di balene norvegesi?",
        "Buongiorno",
        "Grazie mille",
    ),
    "pt": Spoken(
        "O hotel Aurora serve o pequeno-almoço a partir das 7:30 na sala de jantar. Os hóspedes deixam a bagagem na "
        "receção.",
        "A partir de quando é que o hotel Aurora serve o pequeno-almoço?",
        "7:30",
        "Que compositor escreveu a ópera sobre os caçadores de baleias noruegueses?",
        "Bom dia",
        "Muito obrigado",
    ),
    "nl": Spoken(
        "Hotel Aurora serveert het ontbijt vanaf 7:35 uur in de eetzaal. Gasten geven hun bagage af bij de receptie.",
        "Vanaf wanneer serveert Hotel Aurora het ontbijt?",
        "7:35",
        "Welke componist schreef de opera over de Noorse walvisjagers?",
        "Goedemorgen",
        "Hartelijk dank",
    ),
    "pl": Spoken(
        "Hotel Aurora podaje śniadanie od godziny 7:40 w jadalni. Goście zostawiają bagaż w recepcji.",
        "Od której godziny hotel Aurora podaje śniadanie?",
        "7:40",
        "Który kompozytor napisał operę o norweskich łowcach wielorybów?",
        "Dzień dobry",
        "Bardzo dziękuję",
    ),
    "ru": Spoken(
        "Отель Aurora подаёт завтрак с 7:45 в столовой. Гости оставляют багаж на стойке регистрации.",
        "С какого времени отель Aurora подаёт завтрак?",
        "7:45",
        "Какой композитор написал оперу о норвежских китобоях?",
        "Доброе утро",
        "Большое спасибо",
    ),
    "ar": Spoken(
        "يقدم فندق Aurora وجبة الإفطار ابتداء من الساعة 7:50 في قاعة الطعام. يترك الضيوف أمتعتهم في الاستقبال.",
        "متى يبدأ فندق Aurora بتقديم وجبة الإفطار؟",
        "7:50",
        "أي ملحن كتب الأوبرا عن صيادي الحيتان النرويجيين؟",
        "صباح الخير",
        "شكرا جزيلا",
    ),
    "ja": Spoken(
        "ホテルAuroraの朝食は7:55から食堂で提供されます。お客様の荷物はフロントでお預かりします。",
        "ホテルAuroraの朝食は何時から提供されますか。",
        "7:55",
        "ノルウェーの捕鯨者についてのオペラを書いた作曲家は誰ですか。",
        "おはようございます",
        "ありがとうございます",
    ),
    "zh": Spoken(
        "Aurora酒店从8:05开始在餐厅供应早餐。客人可以把行李寄存在前台。",
        "Aurora酒店几点开始供应早餐？",
        "8:05",
        "哪位作曲家写了关于挪威捕鲸者的歌剧？",
        "早上好",
        "非常感谢",
    ),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EdgeClient]:
    """A client of a deployment that holds one document in each language."""
    async with AsyncExitStack() as stack:
        running = Deployment(tmp_path_factory.mktemp("twelve"), env={"FOOTNOTE_PROCESSES": "1"})
        stack.push_async_callback(asyncio.to_thread, running.stop)
        await asyncio.to_thread(running.start)
        client = await stack.enter_async_context(edge_client(running.address()))
        for code, spoken in SPOKEN.items():
            document = await client.put(spoken.document.encode(), f"{code}.txt")
            assert document.state == DOCUMENT_STATE_INDEXED, document
        yield client


@pytest.fixture(scope="module")
def identifier() -> Any:
    """What tells in which of the twelve languages a text is."""
    made = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    made.set_languages(list(SPOKEN))
    return made


async def completed(edge: EdgeClient, message: str) -> AskCompleted:
    return (await edge.ask(message))[-1].completed


async def test_each_locale_is_here() -> None:
    assert set(SPOKEN) == set(locales.codes())


@pytest.mark.parametrize("code", SPOKEN)
async def test_an_answer_is_in_the_language_of_its_question(edge: EdgeClient, identifier: Any, code: str) -> None:
    spoken = SPOKEN[code]
    done = await completed(edge, spoken.question)
    assert done.answer.finish_reason == FINISH_REASON_ANSWERED, done.answer
    assert spoken.answer in done.answer.text, done.answer.text
    assert done.answer.citations[0].filename == f"{code}.txt"
    assert identifier.classify(done.answer.text)[0] == code, done.answer.text


@pytest.mark.parametrize("code", SPOKEN)
async def test_a_refusal_is_in_the_language_of_its_question(edge: EdgeClient, identifier: Any, code: str) -> None:
    done = await completed(edge, SPOKEN[code].missing)
    assert done.answer.finish_reason == FINISH_REASON_NO_RELEVANT_CONTENT, done.answer.text
    assert not done.answer.citations
    assert identifier.classify(done.answer.text)[0] == code, done.answer.text


@pytest.mark.parametrize("what", ["greeting", "thanks"])
@pytest.mark.parametrize("code", SPOKEN)
async def test_small_talk_is_in_the_language_of_whoever_talks(
    edge: EdgeClient, identifier: Any, code: str, what: str
) -> None:
    done = await completed(edge, getattr(SPOKEN[code], what))
    assert done.answer.finish_reason == FINISH_REASON_ANSWERED_WITHOUT_SOURCES, done.answer.text
    assert not done.answer.citations
    assert identifier.classify(done.answer.text)[0] == code, done.answer.text

import pytest
from footnote_retrieval.query.files import FileNames, asks_for_whole, named_files
from footnote_text import locales

NAMES = FileNames({"1": "policy.txt", "2": "employeeHandbook.pdf", "3": "年报告.pdf"}, complete=True)
WHOLE = {
    "en": ["What is in policy.txt?", "policy.txt", "Summarise policy.txt, please", 'What is in "policy"?',
           "What is employeeHandbook.pdf about?", "What do policy.txt and employeeHandbook.pdf contain?",
           "Show me the file policy.txt"],
    "fr": ["Que contient policy.txt ?", "Qu'y a-t-il dans policy.txt ?", "De quoi parle policy.txt ?",
           "Résume-moi policy.txt"],
    "de": ["Was steht in policy.txt?", "Worum geht es in policy.txt?", "Fasse policy.txt zusammen"],
    "es": ["¿Qué contiene policy.txt?", "¿De qué trata policy.txt?", "¿Qué hay en policy.txt?"],
    "it": ["Cosa contiene policy.txt?", "Che cosa c'è in policy.txt?", "Di cosa parla policy.txt?"],
    "pt": ["O que há em policy.txt?", "O que contém policy.txt?"],
    "nl": ["Wat staat er in policy.txt?", "Waar gaat policy.txt over?"],
    "pl": ["Co jest w policy.txt?", "Co zawiera plik policy.txt?"],
    "ru": ["Что содержится в policy.txt?", "Что есть в файле policy.txt?", "О чем policy.txt?"],
    "ar": ["ماذا يوجد في policy.txt؟", "ما هي محتويات policy.txt؟"],
    "ja": ["policy.txt には何が書いてありますか？", "policy.txtの内容は何ですか？", "policy.txtを要約してください"],
    "zh": ["policy.txt 里有什么？", "policy.txt里有什么？", "总结 policy.txt", "年报告.pdf 的内容是什么？"],
}  # fmt: skip
PARTICULAR = [
    "What does policy.txt say about trains?",
    "Summarise what policy.txt says on leave",
    "How deep is the ocean by policy.txt?",
    "Who signed policy.txt?",
    "How many pages has policy.txt?",
    "Compare the budgets of policy.txt and employeeHandbook.pdf",
    "Que dit policy.txt sur les trains ?",
    "Quelle est la date de policy.txt ?",
    "Fasse die Urlaubsregeln in policy.txt zusammen",
    "Wie hoch ist das Budget in policy.txt?",
    "¿Qué dice policy.txt sobre los trenes?",
    "Cosa dice policy.txt sui treni?",
    "O que diz policy.txt sobre comboios?",
    "Wat zegt policy.txt over treinen?",
    "Co policy.txt mówi o pociągach?",
    "Что говорится в policy.txt о поездах?",
    "ماذا يقول policy.txt عن القطارات؟",
    "policy.txt には列車について何が書いてありますか？",
    "policy.txt 中关于火车的规定是什么？",
]


def whole(question: str) -> bool:
    return asks_for_whole(question, named_files(question, NAMES))


def test_every_locale_is_asked_in() -> None:
    assert WHOLE.keys() == set(locales.codes())


@pytest.mark.parametrize("code", WHOLE)
def test_a_name_with_words_that_ask_for_contents_is_a_question_about_the_whole(code: str) -> None:
    assert [question for question in WHOLE[code] if not whole(question)] == []


@pytest.mark.parametrize("question", PARTICULAR)
def test_a_word_to_look_for_makes_it_a_question_about_something_in_the_file(question: str) -> None:
    assert named_files(question, NAMES)
    assert not whole(question)


def test_a_question_that_names_no_file_is_about_none() -> None:
    assert not whole("What is in it?")
    assert not whole("What is in lease.pdf?")


def test_a_long_question_is_not_taken_apart() -> None:
    assert not whole("What is in policy.txt?" + " please" * 100)

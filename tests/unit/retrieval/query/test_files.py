import itertools
import unicodedata

import pytest
from footnote_retrieval.query.files import FileNames, named_files

FILES = {
    "1": "rapport.pdf",
    "2": "production.xlsx",
    "3": "inventaire.csv",
    "4": "Annual Report 2023.pdf",
    "5": "annual_report.pdf",
    "6": "policy.md",
    "7": "BOEING_2022_10K.pdf",
    "8": "Été.docx",
    "9": "rapport.pdf",
    "10": "employeeHandbook.docx",
}
# What a question says of a name that is written as one, and of a name's words that are not.
FRAMES = ["{}", "What is in {}?", "Que dit {} ?", "Was steht in {}: etwas über Züge?", "Is it ({}), or not", "see {}."]
# The words of each stand for a matter as well.
NAMES = [
    "travel-policy.md",
    "annual report.pdf",
    "LinkedIn.md",
    "covid-19.pdf",
    "Été.docx",
    "notes.txt",
    "A4.pdf",
    "x.y-z.csv",
]
WAYS = {
    "as it is": lambda name: name,
    "in capitals": str.upper,
    "in small letters": str.lower,
    "decomposed": lambda name: unicodedata.normalize("NFD", name),
    "in quotes": lambda name: f'"{name}"',
    "in quotes without extension": lambda name: f"“{name.rpartition('.')[0]}”",
    "in French quotes without extension": lambda name: f"« {name.rpartition('.')[0]} »",
    "in German quotes": lambda name: f"„{name}“",
}
SOFTER = {
    "its words": lambda stem, _: stem.replace("-", " "),
    "its words as they are": lambda stem, _: stem,
    "beside a word for a file": lambda stem, _: f"the file {stem}",
    "beside another": lambda stem, _: f"{stem} document",
    "in capitals": lambda stem, _: stem.upper(),
    "with a word for its kind": lambda stem, extension: f"{stem} {extension}",
    "in a longer phrase in quotes": lambda stem, _: f'"all {stem} we have"',
    "as part of a longer name": lambda stem, extension: f"old-{stem}.{extension}",
    "as the beginning of a longer name": lambda stem, extension: f"{stem}.{extension}-old",
    "at the end of a sentence": lambda stem, extension: f"{stem}. {extension}",
}


def names_of(question: str, files: dict[str, str]) -> list[str]:
    return [file.filename for file in named_files(question, FileNames(files))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_written_as_a_name_names(name: str, way: str) -> None:
    for frame in FRAMES:
        assert names_of(frame.format(WAYS[way](name)), {"a": name, "b": "other.pdf"}) == [name]


@pytest.mark.parametrize("way", SOFTER)
@pytest.mark.parametrize("name", NAMES)
def test_what_only_sounds_like_a_name_names_nothing(name: str, way: str) -> None:
    stem, _, extension = name.rpartition(".")
    for frame in FRAMES:
        assert names_of(frame.format(SOFTER[way](stem, extension)), {"a": name, "b": "other.pdf"}) == []


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(NAMES, 2))[::5])
def test_two_names_are_told_in_the_order_of_the_question(first: str, second: str) -> None:
    assert names_of(f"Compare {first} and {second}", {str(i): name for i, name in enumerate(NAMES)}) == [first, second]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is in the rapport.pdf file?", ["rapport.pdf"]),
        ("What is in RAPPORT.PDF?", ["rapport.pdf"]),
        ("Compare les stocks entre production.xlsx et inventaire.csv", ["production.xlsx", "inventaire.csv"]),
        ("what does annual report 2023.pdf say", ["Annual Report 2023.pdf"]),
        ("what does annual-report.pdf say", ["annual_report.pdf"]),
        ("what does annual_report say", ["annual_report.pdf"]),
        ("what does the annual report 2023 say", []),
        ("what does the annual-report say", []),
        ("que dit le fichier ete", []),
        ("que dit l'été.docx", ["Été.docx"]),
        ("summarise the document policy", []),
        ("What is the policy on leave?", []),
        ("inventaire et production de l'usine", []),
        ("see BOEING_2022_10K please", ["BOEING_2022_10K.pdf"]),
        ("see boeing 2022 10k please", []),
        ("employeehandbook.docx: how many days off", ["employeeHandbook.docx"]),
        ("employee handbook: how many days off", []),
        ("reports about production.xls", []),
        ("", []),
    ],
)
def test_named(question: str, names: list[str]) -> None:
    assert names_of(question, FILES) == names


def test_one_name_carried_by_two_documents() -> None:
    assert named_files("rapport.pdf", FileNames(FILES))[0].document_ids == ("1", "9")

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


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is in the rapport.pdf file?", ["rapport.pdf"]),
        ("What is in RAPPORT.PDF?", ["rapport.pdf"]),
        ("Compare les stocks entre production.xlsx et inventaire.csv", ["production.xlsx", "inventaire.csv"]),
        ("what does the annual report 2023 say", ["Annual Report 2023.pdf"]),
        ("what does the annual-report say", ["annual_report.pdf"]),
        ("que dit le fichier ete", ["Été.docx"]),
        ("summarise the document policy", ["policy.md"]),
        ("What is the policy on leave?", []),
        ("inventaire et production de l'usine", []),
        ("see boeing 2022 10k please", ["BOEING_2022_10K.pdf"]),
        ("employee handbook: how many days off", ["employeeHandbook.docx"]),
        ("reports about production.xls", []),
        ("", []),
    ],
)
def test_named(question: str, names: list[str]) -> None:
    assert [file.filename for file in named_files(question, FileNames(FILES))] == names


def test_one_name_carried_by_two_documents() -> None:
    assert named_files("rapport.pdf", FileNames(FILES))[0].document_ids == ("1", "9")

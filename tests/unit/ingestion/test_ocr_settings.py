"""Whether OCR works as it is set is told to the operator: the uploader of a scan can install nothing."""

import shutil
from pathlib import Path

import pytest
from footnote_ingestion.settings import Settings
from footnote_ingestion.worker.isolation import Isolation
from footnote_ingestion.worker.plan import Measures

VARIABLE = "FOOTNOTE_INGESTION_OCR_LANGUAGES"


def test_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Settings().ocr_problem() == ""
    problem = Settings(ocr_languages="eng").ocr_problem()
    assert problem.startswith(f"{VARIABLE} is set, but the OCR program tesseract is not installed")


def test_a_program_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    program.write_text("no program")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "does not start" in Settings(ocr_languages="eng").ocr_problem()


@pytest.mark.skipif(
    shutil.which("tesseract") is None, reason="tesseract is not installed (apt-get install tesseract-ocr)"
)
def test_a_language_that_is_not_installed() -> None:
    assert Settings(ocr_languages="eng").ocr_problem() == ""
    assert Settings(ocr_languages="xxx+eng").ocr_problem().endswith("does not have here: xxx")


def test_operators_see_it_beside_the_isolation() -> None:
    isolation = Isolation("auto")
    isolation.ocr_problem = "No tesseract"
    assert isolation.text() == ""  # edge asks until there is something
    isolation.note("reading", Measures({}, {}))
    assert isolation.text().endswith(". No tesseract")

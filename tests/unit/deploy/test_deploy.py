import runpy
import sys
from pathlib import Path

import pypdfium2
import pytest
from python_calamine import CalamineWorkbook

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "deploy" / "samples"
HANDBOOK = SAMPLES / "handbook"


def test_the_samples_that_are_checked_in_are_those_that_the_script_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    monkeypatch.setattr(sys, "argv", ["make_samples.py", str(tmp_path)])
    runpy.run_path(str(SAMPLES / "make_samples.py"), run_name="__main__")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in HANDBOOK.iterdir())
    for made in tmp_path.iterdir():
        kept = HANDBOOK / made.name
        if made.suffix == ".pdf":
            assert pdf_pages(made) == pdf_pages(kept)
        elif made.suffix == ".xlsx":
            assert cells(made) == cells(kept)
        elif made.suffix != ".docx":
            assert made.read_bytes() == kept.read_bytes()


def pdf_pages(path: Path) -> list[str]:
    with pypdfium2.PdfDocument(path) as document:
        return [page.get_textpage().get_text_range() for page in document]


def cells(path: Path) -> dict[str, list[list[object]]]:
    workbook = CalamineWorkbook.from_path(str(path))
    return {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}


@pytest.mark.slow
def test_the_demo_leaves_the_installation_alone_that_the_shell_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its services would migrate that one's databases and take its jobs, as one more replica."""
    other = tmp_path / "other"
    other.mkdir()
    for name in ("EDGE", "INGESTION", "INDEXING"):
        monkeypatch.setenv(f"FOOTNOTE_{name}_DATABASE_URL", f"sqlite+aiosqlite:///{other}/{name}.db")
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    monkeypatch.setenv("FOOTNOTE_API_KEY", "fn_of_another_installation")
    demo = runpy.run_path(str(ROOT / "deploy" / "demo.py"))
    with demo["server"](tmp_path) as address:
        assert "default" in demo["footnote"]("whoami", address=address)
    assert list(other.iterdir()) == []


def test_the_facts_of_the_demo_stand_where_it_says() -> None:
    assert cells(HANDBOOK / "products.xlsx")["Products"][4][2] == 60
    assert "54 euros abroad" in pdf_pages(HANDBOOK / "handbook.pdf")[2]
    assert "deux jours par semaine" in (HANDBOOK / "guide-lyon.md").read_text()

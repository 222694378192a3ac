import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pypdfium2
import pytest
from footnote_kit.settings import DEFAULT_PORTS, KitSettings
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


def test_the_facts_of_the_demo_stand_where_it_says() -> None:
    assert cells(HANDBOOK / "products.xlsx")["Products"][4][2] == 60
    assert "54 euros abroad" in pdf_pages(HANDBOOK / "handbook.pdf")[2]
    assert "deux jours par semaine" in (HANDBOOK / "guide-lyon.md").read_text()


@pytest.mark.parametrize("file", ["docker-compose.yml", "deploy/docker/Dockerfile"])
def test_every_variable_set_in_a_container_is_one_that_is_read(file: str) -> None:
    known = {f"FOOTNOTE_{name.upper()}" for name in KitSettings.model_fields} | {"FOOTNOTE_PROBE_ADDRESS"}
    used = set(re.findall(r"\bFOOTNOTE_[A-Z_]+", (ROOT / file).read_text()))
    assert used
    assert used <= known


def test_compose_runs_every_service_on_its_own_port() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for stage, port in DEFAULT_PORTS.items():
        assert f"FOOTNOTE_{stage.upper()}_ADDRESS: {stage}:{port}" in text
        assert f"command: [serve, {stage}]\n" in text
        assert f"FOOTNOTE_PROBE_ADDRESS: 127.0.0.1:{port}" in text


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_docker_compose_takes_the_file() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this docker has no compose plugin")
    command = ["docker", "compose", "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

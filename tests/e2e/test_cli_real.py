"""The command line against the real services, in one process and in seven, with the sample handbook."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote_kit.settings import STAGES
from support.serving import Deployment, one_process, six_processes

HANDBOOK = Path(__file__).resolve().parents[2] / "deploy" / "samples" / "handbook"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module", params=["one process", "seven processes"])
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    serve = one_process if request.param == "one process" else six_processes
    with serve(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture(scope="module")
def handbook(deployment: Deployment) -> Deployment:
    """The deployment with the samples in the collection "handbook"."""
    result = deployment.footnote("ingest", str(HANDBOOK), "--collection", "handbook", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["total"] == len(list(HANDBOOK.iterdir()))
    return deployment


def test_every_part_is_healthy(deployment: Deployment) -> None:
    result = deployment.footnote("health", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    names = {part["name"] for part in json.loads(result.stdout)["components"]}
    assert {"ingestion", "indexing", "retrieval", "augmentation", "generation"} <= names


def test_every_service_answers_the_probe(deployment: Deployment) -> None:
    for stage in STAGES:
        assert deployment.footnote("probe", deployment.addresses[stage]).returncode == 0, stage


@pytest.mark.parametrize(
    ("question", "answer", "place"),
    [
        (
            "How many months of warranty does the Polaris Laser Tracker have?",
            r"\b60\b",
            r"products\.xlsx, sheet 'Products'",
        ),
        ("How much is the daily travel allowance abroad?", r"54 euros", r"handbook\.pdf, page 3"),
        ("Combien de jours par semaine peut-on télétravailler à Lyon ?", r"deux jours", r"guide-lyon\.md, lignes? 5"),
        ("When was Polaris firmware 3.2 released?", r"14 March 2026", r"releases\.html"),
    ],
)
def test_answers_come_with_the_right_footnote(handbook: Deployment, question: str, answer: str, place: str) -> None:
    result = handbook.footnote("ask", question, "-c", "handbook")
    assert result.returncode == 0, result.stderr
    text, _, notes = result.stdout.partition("\n[")
    assert re.search(answer, text), result.stdout
    assert re.search(place, notes), result.stdout


def test_the_waterfall_holds_the_command_edge_and_the_online_stages(handbook: Deployment) -> None:
    result = handbook.footnote("ask", "Who is the laser safety officer?", "-c", "handbook", "--json", "--trace")
    assert result.returncode == 0, result.stderr
    spans = json.loads(result.stdout)["spans"]
    by_id = {span["span_id"]: span for span in spans}
    edges = {
        (by_id[span["parent_span_id"]]["service"], span["service"])
        for span in spans
        if span.get("parent_span_id") in by_id
    }
    assert ("footnote-cli", "footnote-edge") in edges
    for stage in ("retrieval", "augmentation", "generation"):
        assert ("footnote-edge", f"footnote-{stage}") in edges
    drawn = handbook.footnote("ask", "Who is the laser safety officer?", "-c", "handbook", "--trace").stdout
    assert "footnote ask" in drawn
    assert "█" in drawn


def test_the_same_file_again_is_recognised(handbook: Deployment) -> None:
    result = handbook.footnote("ingest", str(HANDBOOK / "emergency.txt"), "-c", "handbook")
    assert result.returncode == 0, result.stderr
    assert "1 there already" in result.stdout


def test_what_cannot_be_read_is_listed_with_the_reason(handbook: Deployment, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "cut.pdf").write_bytes((HANDBOOK / "handbook.pdf").read_bytes()[:500])
    result = handbook.footnote("ingest", str(tmp_path), "-c", "broken", "--json")
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert report["failed"] == 3, report
    for entry in report["documents"]:
        assert entry["error"]["message"]
        assert entry["error"]["reason"]


def test_a_document_goes_round(handbook: Deployment, tmp_path: Path) -> None:
    source = tmp_path / "note.md"
    source.write_text("# Canteen\n\nThe canteen serves waffles on Thursdays.\n")
    report = json.loads(handbook.footnote("ingest", str(source), "-c", "notes", "--json").stdout)
    document = report["documents"][0]["document"]["id"]
    assert "waffles" in handbook.footnote("search", "waffles", "-c", "notes").stdout

    target = tmp_path / "back.md"
    assert handbook.footnote("documents", "download", document, "-o", str(target)).returncode == 0
    assert target.read_bytes() == source.read_bytes()

    source.write_text("# Canteen\n\nThe canteen serves pancakes on Fridays.\n")
    assert handbook.footnote("documents", "replace", document, str(source)).returncode == 0
    found = handbook.footnote("search", "canteen", "-c", "notes").stdout
    assert "pancakes" in found
    assert "waffles" not in found

    assert handbook.footnote("documents", "reindex", document).returncode == 0
    assert handbook.footnote("documents", "delete", document, "--yes").returncode == 0
    assert handbook.footnote("documents", "get", document).returncode == 1
    assert "Nothing found." in handbook.footnote("search", "pancakes", "-c", "notes").stdout
    assert handbook.footnote("collections", "delete", "notes", "--yes").returncode == 0


def test_an_empty_question_and_a_missing_collection_are_refused_with_what_to_do(handbook: Deployment) -> None:
    missing = handbook.footnote("ask", "Anything?", "-c", "absent")
    assert missing.returncode == 1
    assert missing.stderr.startswith("Collection 'absent' not found")
    assert "footnote collections list" in missing.stderr


BUF = shutil.which("buf") or shutil.which("buf", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(BUF is None, reason="buf is not installed")
def test_buf_curl_lists_and_calls_by_reflection(deployment: Deployment) -> None:
    def curl(*arguments: str) -> str:
        command = [str(BUF), "curl", "--protocol", "grpc", "--http2-prior-knowledge", "--reflect", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    for stage in STAGES:
        services = curl("--list-services", f"http://{deployment.addresses[stage]}").split()
        assert f"footnote.{stage}.v1.{stage.capitalize()}Service" in services
    answer = curl("--data", "{}", f"http://{deployment.address}/footnote.edge.v1.EdgeService/GetHealth")
    assert json.loads(answer)["healthy"] is True

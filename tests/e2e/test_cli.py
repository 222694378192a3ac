"""The command line against the real services, in one process and in seven, with the sample handbook."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from footnote_kit.settings import STAGES
from support.base_environment import inherited
from support.deployment import Deployment
from support.doubles.services import contracts

HANDBOOK = Path(__file__).resolve().parents[2] / "deploy" / "samples" / "handbook"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

Footnote = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def footnote(running: Deployment) -> Footnote:
    """Runs a command as a process of its own, 100 columns wide, against the deployment."""
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "FOOTNOTE_EDGE_ADDRESS": running.address(), "COLUMNS": "100"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "footnote_cli.main", *arguments]
        return subprocess.run(
            command, env={**inherited(), **own}, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture(scope="session")
def samples(footnote: Footnote) -> str:
    """The name of a collection into which the command line has uploaded the sample documents."""
    result = footnote("ingest", str(HANDBOOK), "--collection", "samples", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout)["total"] == len(list(HANDBOOK.iterdir()))
    return "samples"


def test_every_part_is_healthy(footnote: Footnote) -> None:
    result = footnote("health", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    names = {part["name"] for part in json.loads(result.stdout)["components"]}
    assert {"ingestion", "indexing", "retrieval", "augmentation", "generation"} <= names


def test_every_service_answers_the_probe(footnote: Footnote, running: Deployment) -> None:
    for stage in STAGES:
        assert footnote("probe", running.address(stage)).returncode == 0, stage


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
def test_answers_come_with_the_right_footnote(
    footnote: Footnote, samples: str, question: str, answer: str, place: str
) -> None:
    result = footnote("ask", question, "-c", samples)
    assert result.returncode == 0, result.stderr
    text, _, notes = result.stdout.partition("\n[")
    assert re.search(answer, text), result.stdout
    assert re.search(place, notes), result.stdout


def test_the_waterfall_holds_the_command_edge_and_the_online_stages(footnote: Footnote, samples: str) -> None:
    result = footnote("ask", "Who is the laser safety officer?", "-c", samples, "--json", "--trace")
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
    drawn = footnote("ask", "Who is the laser safety officer?", "-c", samples, "--trace").stdout
    assert "footnote ask" in drawn
    assert "█" in drawn


def test_the_same_file_again_is_recognised(footnote: Footnote, samples: str) -> None:
    result = footnote("ingest", str(HANDBOOK / "emergency.txt"), "-c", samples)
    assert result.returncode == 0, result.stderr
    assert "1 there already" in result.stdout


def test_what_cannot_be_read_is_listed_with_the_reason(footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "cut.pdf").write_bytes((HANDBOOK / "handbook.pdf").read_bytes()[:500])
    result = footnote("ingest", str(tmp_path), "-c", "broken", "--json")
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert report["failed"] == 3, report
    for entry in report["documents"]:
        assert entry["error"]["message"]
        assert entry["error"]["reason"]


def test_a_folder_of_small_files_goes_in_by_groups(footnote: Footnote, tmp_path: Path) -> None:
    for number in range(150):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nThe mill of note {number} grinds {number} tons.")
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing of it")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "large.txt").write_text("A line of the large file.\n" * 12_000)
    (tmp_path / "same.md").write_bytes((tmp_path / "7.md").read_bytes())
    result = footnote("ingest", str(tmp_path), "--collection", "folder", "--json")
    documents = {Path(one["path"]).name: one for one in json.loads(result.stdout)["documents"]}
    assert result.returncode == 1, result.stderr
    assert len(documents) == 154
    assert {name for name, one in documents.items() if one["failed"]} == {"bad.pdf", "empty.txt"}
    assert documents["bad.pdf"]["error"]["reason"] == "FILE_CORRUPT"
    assert sum(one["duplicate"] for name, one in documents.items() if name in ("7.md", "same.md")) == 1
    states = {documents[name]["document"]["state"] for name in ("large.txt", "149.md")}
    assert states == {"DOCUMENT_STATE_INDEXED"}
    again = footnote("ingest", str(tmp_path), "--collection", "folder", "--json", "--no-wait")
    assert sum(one["duplicate"] for one in json.loads(again.stdout)["documents"]) == 152


def test_a_document_goes_round(footnote: Footnote, tmp_path: Path) -> None:
    source = tmp_path / "note.md"
    source.write_text("# Canteen\n\nThe canteen serves waffles on Thursdays.\n")
    report = json.loads(footnote("ingest", str(source), "-c", "notes", "--json").stdout)
    document = report["documents"][0]["document"]["id"]
    assert "waffles" in footnote("search", "waffles", "-c", "notes").stdout

    target = tmp_path / "back.md"
    assert footnote("documents", "download", document, "-o", str(target)).returncode == 0
    assert target.read_bytes() == source.read_bytes()

    source.write_text("# Canteen\n\nThe canteen serves pancakes on Fridays.\n")
    assert footnote("documents", "replace", document, str(source)).returncode == 0
    found = footnote("search", "canteen", "-c", "notes").stdout
    assert "pancakes" in found
    assert "waffles" not in found

    assert footnote("documents", "reindex", document).returncode == 0
    assert footnote("documents", "delete", document, "--yes").returncode == 0
    assert footnote("documents", "get", document).returncode == 3
    assert "Nothing found." in footnote("search", "pancakes", "-c", "notes").stdout
    assert footnote("collections", "delete", "notes", "--yes").returncode == 0


def test_an_empty_question_and_a_missing_collection_are_refused_with_what_to_do(
    footnote: Footnote, samples: str
) -> None:
    missing = footnote("ask", "Anything?", "-c", "absent")
    assert missing.returncode == 3
    assert missing.stderr.startswith("Collection 'absent' not found")
    assert "footnote collections list" in missing.stderr


BUF = shutil.which("buf") or shutil.which("buf", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(BUF is None, reason="buf is not installed (pip install buf-bin)")
def test_buf_curl_lists_and_calls_by_reflection(running: Deployment) -> None:
    def curl(*arguments: str) -> str:
        command = [str(BUF), "curl", "--protocol", "grpc", "--http2-prior-knowledge", "--reflect", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    for stage in STAGES:
        services = curl("--list-services", f"http://{running.address(stage)}").split()
        named = {service.full_name for _, service in contracts(stage)}
        assert named <= set(services)
    answer = curl("--data", "{}", f"http://{running.address()}/footnote.edge.v1.SystemService/GetHealth")
    assert json.loads(answer)["healthy"] is True


def test_own_vectors_are_added_listed_searched_and_deleted(footnote: Footnote, tmp_path: Path) -> None:
    rows = [
        {"id": f"kb/{n}", "text": f"Passage number {n}", "metadata": {"n": n}, "vector": vector}
        for n, vector in enumerate(([1, 0, 0], [0, 1, 0], [0, 0, 1]))
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "vector.json").write_text("[0, 2, 0]")
    name = f"own-{tmp_path.name}"
    sets = [part for one in ("embedding.provider=none", "embedding.dimensions=3") for part in ("--set", one)]
    assert footnote("collections", "create", name, *sets).returncode == 0
    added = footnote("vectors", "add", name, str(tmp_path / "rows.jsonl"), "--json")
    assert added.returncode == 0, added.stderr
    assert json.loads(added.stdout) == {"count": 3, "ids": ["kb/0", "kb/1", "kb/2"]}
    listed = json.loads(footnote("vectors", "list", name, "--filter", '{"n": {"$gte": 1}}', "--json").stdout)
    assert [row["id"] for row in listed["rows"]] == ["kb/1", "kb/2"]
    refused = footnote("search", "passage", "-c", name)
    assert refused.returncode != 0
    assert "brings its own vectors: give query_vector" in " ".join(refused.stderr.split())
    found = footnote("search", "", "-c", name, "--vector", str(tmp_path / "vector.json"), "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["chunks"][0]["chunk"]["document_id"] == "kb/1"
    assert footnote("vectors", "delete", name, "kb/1", "nowhere", "--yes").returncode != 0
    assert "2 deleted" in footnote("vectors", "delete", name, "kb/1", "kb/0", "--yes").stdout
    assert footnote("vectors", "list", name).stdout.startswith("kb/2  Passage number 2")


def test_tables_are_listed_shown_queried_and_computed_from(footnote: Footnote, tmp_path: Path) -> None:
    sales = tmp_path / "sales.csv"
    sales.write_text("City;Units (kg)\nLyon;12\nBern;7\nLyon;30\nOslo;on order\n")
    assert footnote("ingest", str(sales), "--collection", "sales").returncode == 0
    listed = footnote("tables", "list", "sales.csv").stdout
    assert "4 rows, in queries t_" in listed
    assert "Units (kg)  (number, kg, 1 other cell)  12, 7, 30" in listed
    shown = [line.split() for line in footnote("tables", "show", "sales.csv", "--rows", "2").stdout.splitlines()]
    assert shown == [
        ["Row", "City", "Units", "(kg)"],
        ["2", "Lyon", "12"],
        ["3", "Bern", "7"],
        ["4", "rows", "in", "all."],
    ]
    (view,) = re.findall(r"t_\w+", listed)
    query = f'SELECT "City", SUM("Units (kg)") AS kg FROM {view} GROUP BY 1 ORDER BY 2 DESC NULLS LAST'
    given = footnote("tables", "query", "-d", "sales.csv", query)
    assert [line.split() for line in given.stdout.splitlines()] == [
        ["City", "kg"],
        ["Lyon", "42"],
        ["Bern", "7"],
        ["Oslo"],
    ]
    refused = footnote("tables", "query", "-d", "sales.csv", "SELECT * FROM read_csv('/etc/passwd')")
    assert refused.returncode != 0
    assert "not allowed" in refused.stderr or "no table" in refused.stderr

    answered = footnote("ask", "What is the sum of Units per City?", "--collection", "sales").stdout
    assert "computed from cells" in answered
    assert "Computed: sum of Units (kg) by City" in answered
    assert ["Lyon", "42"] in [line.split() for line in answered.splitlines()]
    assert "SELECT" in answered
    quiet = footnote("ask", "What is the sum of Units per City?", "--collection", "sales", "--quiet").stdout
    assert "SELECT" not in quiet

# ruff: noqa: E501 - tables of cases
"""`footnote eval verdicts`: what is read, what the figures say, and a run through the real service."""

import json
from pathlib import Path
from typing import Any

import pytest
from footnote_cli.evaluation.dataset import DatasetError
from footnote_cli.evaluation.statements import load
from footnote_cli.evaluation.verdicts import Verdict, changes, figures, grouped, reliability
from footnote_cli.main import app
from support.tiny_nli import write_model
from typer.testing import CliRunner

SOURCE = "The crew vacated the premises on 3 May 2021. Visitors may not smoke. The Zephyr weighs 38 kg."
LINES: list[dict[str, Any]] = [
    {"id": "t1", "language": "en", "kind": "quote", "source": SOURCE, "statement": "Visitors may not smoke.", "label": "supported"},
    {"id": "t2", "language": "en", "kind": "paraphrase", "source": {"filename": "a.md", "title": "A", "headings": ["H"], "text": SOURCE},
     "statement": "The workers left the building on 3 May 2021.", "label": "supported"},
    {"id": "f1", "language": "en", "kind": "denial", "source": SOURCE.split(". "), "statement": "Visitors may smoke.", "label": "not_supported"},
    {"_id": "p1", "source": SOURCE, "statement": "Le Zephyr pèse 99 kg et il est rouge.", "label": "partially_supported"},
]  # fmt: skip


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A file of claims with the verdicts that are right."""
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in LINES))
    return path


def test_sources_are_texts_sentences_or_documents(dataset: Path) -> None:
    found = {one.id: one for one in load(dataset.parent)}
    assert found["t2"].source.locator.heading_path == ["H"]
    assert found["f1"].source.text == SOURCE.replace(". ", "\n")
    assert (found["p1"].language, found["p1"].kind) == ("fr", "partially_supported")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 1"), ('{"id": "a"}', "label"), ("[]", "line 1"),
        ('{"id": "a", "label": "maybe", "statement": "x", "source": "y"}', "maybe"),
        ('{"id": "a", "label": "supported", "statement": " ", "source": "y"}', "must have a text"),
        (json.dumps({"id": "a", "label": "supported", "statement": "x" * 8001, "source": "y"}), "line 1.*at most 8000"),
        ("\ufeff" + json.dumps({"label": "maybe"}), "maybe"),
        ('{"id": "a", "label": "supported", "statement": "x", "source": "y"}\n' * 2, "twice"), ("", "no statements"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "claims.jsonl").write_text(line)
    with pytest.raises(DatasetError, match=says):
        load(tmp_path)


def test_figures(dataset: Path) -> None:
    statements = load(dataset)
    verdicts = {
        "t1": Verdict("SUPPORTED", 1.0), "t2": Verdict("NOT_CONFIRMED", 0.5), "f1": Verdict("UNSUPPORTED", 0.1),
        "p1": Verdict("SUPPORTED", 0.7),
    }  # fmt: skip
    found = figures(statements, verdicts)
    assert (found["precision"], found["recall"], found["balanced_accuracy"]) == (0.5, 0.5, 0.5)
    assert (found["false_supported"], found["partly_supported"]) == (0.0, 1.0)
    assert (found["auc"], found["auc_scores"]) == ((0.5 + 1 + 0 + 1) / 4, (1 + 1 + 0 + 1) / 4)
    assert grouped(statements, verdicts, "kind")["quote"]["precision"] == 1.0
    assert grouped(statements, verdicts, "kind")["denial"]["precision"] is None
    labels = {one.id: one.label for one in statements}
    before = {id: one.verdict for id, one in verdicts.items()}
    assert changes(labels, before, {**before, "t2": "SUPPORTED", "t1": "NOT_CONFIRMED"}) == (4, ["t2"], ["t1"])


def test_reliability_is_by_tenths_of_the_score_and_partly_true_is_not_true(dataset: Path) -> None:
    verdicts = {
        "t1": Verdict("SUPPORTED", 1.0), "t2": Verdict("NOT_CONFIRMED", 0.92), "f1": Verdict("UNSUPPORTED", 0.0),
        "p1": Verdict("NOT_CONFIRMED", 0.96),
    }  # fmt: skip
    assert reliability(load(dataset), verdicts) == [
        {"from": 0.0, "to": 0.1, "statements": 1, "score": 0.0, "true": 0.0},
        {"from": 0.9, "to": 1.0, "statements": 3, "score": pytest.approx(0.96), "true": pytest.approx(2 / 3)},
    ]


@pytest.mark.slow
def test_a_run_through_the_service_with_and_without_a_reader(dataset: Path, tmp_path: Path) -> None:
    reader = f"nli:{write_model(tmp_path / 'nli', {'workers': 'ENTAILMENT', 'smoke': 'CONTRADICTION'})}"
    first = CliRunner().invoke(app, ["eval", "verdicts", str(dataset), "--json"])
    assert first.exit_code == 0, first.output
    (rules,) = json.loads(first.stdout)["runs"]
    assert rules["verdicts"]["t1"] == {"label": "supported", "verdict": "SUPPORTED", "score": 1.0, "reason": ""}
    assert rules["verdicts"]["f1"]["verdict"] == "NOT_CONFIRMED"
    assert rules["figures"]["recall"] == 0.5
    assert sum(one["statements"] for one in rules["reliability"]) == len(LINES)
    (tmp_path / "earlier.json").write_text(first.stdout)
    arguments = ["eval", "verdicts", str(dataset), "--reader", reader, "--compare", str(tmp_path / "earlier.json")]
    second = CliRunner().invoke(app, [*arguments, "--json"])
    alone, with_reader = json.loads(second.stdout)["runs"]
    assert alone["figures"] == rules["figures"]
    assert with_reader["figures"]["recall"] == 1.0
    assert with_reader["verdicts"]["f1"]["verdict"] == "UNSUPPORTED"
    (compared,) = json.loads(second.stdout)["compared"]
    assert (compared["shared"], compared["better"], compared["worse"]) == (4, [], [])
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert "paraphrase" in shown.output
    assert "0.9 to 1.0" in shown.output
    assert "Against the earlier run, rules: 4 statements in both" in shown.output


@pytest.mark.slow
def test_a_wrong_reader_or_set_is_refused_in_one_line(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    compared = [str(dataset), "--compare", str(tmp_path / "list.json")]
    for arguments in ([str(tmp_path / "none")], [str(dataset), "--reader", "nowhere:x"], compared):
        result = CliRunner().invoke(app, ["eval", "verdicts", *arguments])
        assert "object has no attribute" not in result.output
        assert result.exit_code == 1
        assert "Traceback" not in result.output

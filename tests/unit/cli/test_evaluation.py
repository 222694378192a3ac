import asyncio
import json
from pathlib import Path

import pytest
from footnote_cli.evaluation.dataset import DatasetError, load
from footnote_cli.evaluation.measures import compare, mean, score_query
from footnote_cli.evaluation.together import together
from footnote_cli.main import app
from footnote_kit.errors import Unavailable
from typer.testing import CliRunner


def test_measures() -> None:
    perfect = score_query(["a", "b"], {"a": 1, "b": 1})
    assert perfect == {"ndcg@10": 1.0, "recall@10": 1.0, "recall@100": 1.0, "mrr@10": 1.0}
    second = score_query(["x", "a"], {"a": 1})
    assert second["ndcg@10"] == pytest.approx(0.6309, abs=1e-4)
    assert second["mrr@10"] == 0.5
    late = score_query([str(i) for i in range(50)] + ["a"], {"a": 1})
    assert (late["ndcg@10"], late["recall@10"], late["recall@100"]) == (0.0, 0.0, 1.0)


def test_graded_gains() -> None:
    assert score_query(["low", "high"], {"high": 3, "low": 1})["ndcg@10"] < 1.0


def test_mean() -> None:
    scores = {"1": score_query(["a"], {"a": 1}), "2": score_query(["b"], {"a": 1})}
    assert mean(scores)["mrr@10"] == 0.5


def test_the_same_run_does_not_differ_and_a_better_one_does() -> None:
    before = {str(i): {"ndcg@10": 0.5} for i in range(40)}
    same = compare(before, before)
    assert (same.p_value, same.equal, same.delta) == (1.0, 40, 0.0)
    after = {query: {"ndcg@10": 0.6 if int(query) % 5 else 0.4} for query in before}
    better = compare(before, after)
    assert better.p_value < 0.01
    assert (better.better, better.worse) == (32, 8)


def write(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "title": "T", "text": "x"}) + "\n")
    queries = [{"_id": "q1", "text": "?"}, {"_id": "q2", "text": "unjudged"}]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n")


def test_load(tmp_path: Path) -> None:
    write(tmp_path)
    dataset = load(tmp_path)
    assert [document.id for document in dataset.documents] == ["d1"]
    assert dataset.queries == {"q1": "?"}
    assert dataset.relevant == {"q1": {"d1": 1.0}}


@pytest.mark.parametrize(("earlier", "provider", "says"), [
    ('{"runs": []}', "builtin", "is not what"),
    (None, "nothing", "nothing"),
])  # fmt: skip
@pytest.mark.slow
def test_what_cannot_be_measured_is_said_in_a_line(
    tmp_path: Path, earlier: str | None, provider: str, says: str
) -> None:
    write(tmp_path)
    arguments = ["eval", "retrieval", str(tmp_path), "--provider", provider]
    if earlier is not None:
        (tmp_path / "run.json").write_text(earlier)
        arguments += ["--baseline", str(tmp_path / "run.json")]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, says in result.output) == (1, True)
    assert isinstance(result.exception, SystemExit), result.exception


@pytest.mark.slow
def test_the_bar_is_checked_whatever_else_is_measured(tmp_path: Path) -> None:
    write(tmp_path)
    result = CliRunner().invoke(app, ["eval", "retrieval", str(tmp_path), "--bar", "--strategy", "bm25"])
    assert (result.exit_code, "holds" in result.output) == (0, True), result.output


async def test_the_first_failure_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def fails() -> None:
        raise Unavailable("away")

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    with pytest.raises(Unavailable, match="away"):
        await together([waits(), fails()])
    assert ended == ["cancelled"]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"corpus\.jsonl"):
        load(tmp_path)

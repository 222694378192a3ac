"""`footnote eval`: measures a change's effect on retrieval, verdicts and answers, through the real services."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from footnote.types.v1.collection_pb2 import Collection, FusionMethod, RetrievalSettings, SearchStrategy
from footnote_kit.errors import FootnoteError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from footnote_cli.console import make_console
from footnote_cli.eval_answers import answers
from footnote_cli.eval_runs import delete_run, runs
from footnote_cli.eval_verdicts import verdicts
from footnote_cli.evaluation.dataset import Dataset, DatasetError, load
from footnote_cli.evaluation.deployment import Bench, Ranking, open_bench
from footnote_cli.evaluation.measures import MEASURES, Difference, compare, mean, score_query
from footnote_cli.render.figures import FigureTable
from footnote_cli.supervise import StartError

app = typer.Typer(no_args_is_help=True, help="Measure retrieval, verdicts and answers on data with known answers.")
app.command()(answers)
app.command()(verdicts)
app.command()(runs)
app.command("delete-run")(delete_run)
_STRATEGIES = {
    "auto": SearchStrategy.SEARCH_STRATEGY_AUTO,
    "hybrid": SearchStrategy.SEARCH_STRATEGY_HYBRID,
    "dense": SearchStrategy.SEARCH_STRATEGY_VECTOR,
    "bm25": SearchStrategy.SEARCH_STRATEGY_FULLTEXT,
}
_BAR = ("bm25", "dense", "hybrid")
_TOLERANCE = 0.005  # how far hybrid may be below the better channel


@app.command()
def retrieval(
    datasets: Annotated[list[Path], typer.Argument(metavar="DATASET…", help="Folders in the layout of BEIR.")],
    provider: Annotated[
        list[str] | None, typer.Option(help="Embedding provider, or PROVIDER:MODEL; repeatable.")
    ] = None,
    strategy: Annotated[list[str] | None, typer.Option(help="auto, hybrid, dense or bm25; repeatable.")] = None,
    bar: Annotated[
        bool, typer.Option(help="Run both channels and hybrid, and check that hybrid is not worse.")
    ] = False,
    weight: Annotated[float | None, typer.Option(min=0, max=1, help="Fix the dense weight.")] = None,
    rrf: Annotated[bool, typer.Option(help="Fuse by reciprocal rank.")] = False,
    queries: Annotated[int, typer.Option(min=0, help="Ask only so many questions, always the same; 0 means all.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write all results, per query too, as JSON.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="Compare with the JSON of an earlier run.")] = None,
) -> None:
    """Ingest data sets through the real services, ask every question, and report nDCG@10, recall and MRR."""
    console = make_console(pipe_width=150)
    names = list(dict.fromkeys([*(strategy or ()), *(_BAR if bar else ())])) or ["auto"]
    unknown = [name for name in names if name not in _STRATEGIES]
    if unknown:
        raise typer.BadParameter(f"There is no strategy {unknown[0]!r}; there are {', '.join(_STRATEGIES)}.")
    settings = RetrievalSettings(fusion=FusionMethod.FUSION_METHOD_RRF if rrf else FusionMethod.FUSION_METHOD_WEIGHTED)
    if weight is not None:
        settings.dense_weight = weight
    try:
        loaded = [load(folder).sampled(queries) for folder in datasets]
        before = json.loads(baseline.read_text(encoding="utf-8-sig")) if baseline else None
        if before is not None and not _is_run(before):
            raise DatasetError(f"{baseline} is not what `footnote eval retrieval --out` writes")
        results = asyncio.run(_measure(console, loaded, provider or ["builtin"], names, settings))
    except (DatasetError, OSError, ValueError, FootnoteError, StartError) as error:
        console.print(str(error), style="red")
        raise typer.Exit(1) from None
    _print(console, results)
    passed = not bar or _print_bar(console, results)
    if before is not None:
        _print_differences(console, before, results)
    if out is not None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
        except OSError as error:
            console.print(f"The figures above could not be written to {out}: {error.strerror}", style="red")
            raise typer.Exit(1) from None
    raise typer.Exit(0 if passed else 1)


def _is_run(read: Any) -> bool:
    """Return whether JSON has the records of an earlier run."""
    names = {"dataset", "provider", "strategy", "per_query"}
    return isinstance(read, list) and all(isinstance(one, dict) and names <= one.keys() for one in read)


async def _measure(
    console: Console, datasets: list[Dataset], providers: list[str], strategies: list[str], settings: RetrievalSettings
) -> list[dict[str, Any]]:
    """Return one record for each provider, data set and strategy.

    Each gets its own store, because the engine computes word rarity over everything in a store.
    """
    results = []
    for name in providers:
        for dataset in datasets:
            async with open_bench() as bench:
                collection_id, took = await _load(console, bench, dataset, name)
                for strategy in strategies:
                    wanted = RetrievalSettings()
                    wanted.CopyFrom(settings)
                    wanted.strategy = _STRATEGIES[strategy]
                    with console.status(Text(f"{dataset.name}: {len(dataset.queries)} questions, {name}, {strategy}")):
                        ranking = await bench.rank(dataset, collection_id, wanted)
                    results.append(_record(dataset, name, strategy, ranking, took))
    return results


async def _load(console: Console, bench: Bench, dataset: Dataset, provider: str) -> tuple[str, float]:
    kind, _, model = provider.partition(":")
    collection = Collection()
    collection.settings.embedding.provider = kind
    collection.settings.embedding.model = model
    began = time.perf_counter()
    with Progress(*_columns(), console=console, transient=True) as progress:
        bar = progress.add_task(f"{dataset.name} → {provider}", total=len(dataset.documents))
        collection_id = await bench.load(dataset, collection, lambda: progress.advance(bar))
    return collection_id, time.perf_counter() - began


def _columns() -> tuple[TextColumn, BarColumn, TaskProgressColumn]:
    # Data set names are printed without markup.
    return TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()


def _record(dataset: Dataset, provider: str, strategy: str, ranking: Ranking, ingest_seconds: float) -> dict[str, Any]:
    """Return the record of a run, in total and per query."""
    per_query = {query: score_query(ranked, dataset.relevant[query]) for query, ranked in ranking.ranked.items()}
    record: dict[str, Any] = {
        "dataset": dataset.name,
        "provider": provider,
        "strategy": strategy,
        "questions": len(per_query),
        "scores": mean(per_query),
        "milliseconds": _percentiles(list(ranking.seconds.values())),
        "ingest_seconds": round(ingest_seconds, 1),
        "degradations": dict(ranking.degraded),
        "per_query": per_query,
    }
    if dataset.sources:
        without = {
            query: score_query(
                [document for document in ranked if document not in dataset.sources.get(query, ())],
                dataset.relevant[query],
            )
            for query, ranked in ranking.ranked.items()
        }
        record["scores_without_sources"] = mean(without)
    return record


def _percentiles(seconds: list[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {"p50": 0.0, "p95": 0.0}
    cuts = statistics.quantiles(seconds, n=20)
    return {"p50": round(cuts[9] * 1000, 2), "p95": round(cuts[18] * 1000, 2)}


def _print(console: Console, results: list[dict[str, Any]]) -> None:
    headings = ("data set", "embeddings", "strategy", "questions", *MEASURES, "without sources", "p50 ms", "p95 ms")
    table = FigureTable("Retrieval, through the services", headings, names=3)
    for result in results:
        without = result.get("scores_without_sources")
        table.add_row(
            result["dataset"], result["provider"], result["strategy"], str(result["questions"]),
            *(f"{result['scores'][measure]:.4f}" for measure in MEASURES),
            f"{without['ndcg@10']:.4f}" if without else "", str(result["milliseconds"]["p50"]),
            str(result["milliseconds"]["p95"]),
        )  # fmt: skip
        if result["degradations"]:
            console.print(
                f"{result['dataset']}, {result['provider']}: degraded {result['degradations']}", style="yellow"
            )
    console.print(table)


def _print_bar(console: Console, results: list[dict[str, Any]]) -> bool:
    """Print hybrid against the better channel; return whether it meets the bar everywhere."""
    scores = {(r["dataset"], r["provider"], r["strategy"]): r["scores"]["ndcg@10"] for r in results}
    headings = ("data set", "embeddings", "better half", "hybrid", "difference", "")
    table = FigureTable(f"Hybrid against its better half (nDCG@10, at most {_TOLERANCE} below)", headings, names=2)
    passed = True
    for dataset, provider in dict.fromkeys((r["dataset"], r["provider"]) for r in results):
        found = [scores.get((dataset, provider, name)) for name in _BAR]
        if any(score is None for score in found):
            continue
        bm25, dense, hybrid = (float(score) for score in found if score is not None)
        best, name = max((bm25, "bm25"), (dense, "dense"))
        held = hybrid >= best - _TOLERANCE
        passed = passed and held
        table.add_row(
            dataset, provider, f"{best:.4f} ({name})", f"{hybrid:.4f}", f"{hybrid - best:+.4f}",
            "holds" if held else "FAILS", style="" if held else "red",
        )  # fmt: skip
    console.print(table)
    return passed


def _print_differences(console: Console, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    earlier = {(r["dataset"], r["provider"], r["strategy"]): r["per_query"] for r in before}
    headings = ("data set", "embeddings", "strategy", "nDCG@10 before", "after", "difference", "p", "better", "worse")
    table = FigureTable("Against the earlier run (paired randomisation test)", headings, names=3)
    for result in after:
        key = (result["dataset"], result["provider"], result["strategy"])
        if key not in earlier:
            continue
        found: Difference = compare(earlier[key], result["per_query"])
        table.add_row(
            *key, f"{found.before:.4f}", f"{found.after:.4f}", f"{found.delta:+.4f}", f"{found.p_value:.4f}",
            str(found.better), str(found.worse), style="bold" if found.p_value < 0.05 else "",
        )  # fmt: skip
    console.print(table)

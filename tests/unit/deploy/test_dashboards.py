"""The dashboards ask for metrics that the product exports, under the names and labels that Prometheus sees."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from footnote_kit import names
from footnote_kit.telemetry_prometheus import Exposition
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "helm" / "footnote"
DASHBOARDS = sorted((CHART / "dashboards").glob("*.json"))
ADDED = {"namespace", "job", "le"}
"""Labels that Prometheus and the histogram bring."""


@cache
def recorded() -> dict[str, tuple[str, frozenset[str]]]:
    """Metrics by their name in the code: what records each, and the words of that file, its labels among them."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for path in [*(ROOT / "libs").rglob("*.py"), *(ROOT / "services").rglob("*.py")]:
        if "tests" in path.parts or path.name == "names.py":
            continue
        text = path.read_text()
        if not re.search(r"\b(counter|histogram|observe)\(", text):
            continue
        tree = ast.parse(text)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
            function = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if function in ("counter", "histogram", "observe") and (name := _word(call.args[0])) in names.METRICS:
                words = {_word(node) for node in ast.walk(tree)} | set(found.get(name, ("", frozenset()))[1])
                found[name] = (function, frozenset(words))
    return found


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Attribute):
        return str(getattr(names, node.attr, ""))
    return str(getattr(names, node.id, "")) if isinstance(node, ast.Name) else ""


@cache
def exported() -> dict[str, frozenset[str]]:
    """The series that the product's own exposition makes of them, each with the words of which its labels are some."""
    registry = CollectorRegistry()
    exposition = Exposition(registry)
    provider = MeterProvider(metric_readers=[exposition.reader])
    meter, of = provider.get_meter("footnote"), {}
    for name, (kind, words) in recorded().items():
        unit, description = names.METRICS[name]
        before = _samples(registry)
        if kind == "counter":
            meter.create_counter(name, unit, description).add(1)
        elif kind == "histogram":
            meter.create_histogram(name, unit, description).record(1)
        else:
            meter.create_gauge(name, unit, description).set(1)
        of |= dict.fromkeys(_samples(registry) - before, frozenset(word.replace(".", "_") for word in words))
    provider.shutdown()
    exposition.close()
    return {**of, "target_info": frozenset()}


def _samples(registry: CollectorRegistry) -> set[str]:
    return {sample.name for family in registry.collect() for sample in family.samples}


def queries(path: Path) -> list[str]:
    panels = json.loads(path.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def test_every_metric_in_the_table_is_recorded_somewhere() -> None:
    assert set(recorded()) == set(names.METRICS)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_query_asks_for_what_is_exported(path: Path) -> None:
    assert queries(path)
    for query in queries(path):
        asked = set(re.findall(r"\b((?:footnote|rpc)_[a-z_]+|target_info)\{", query))
        assert asked, query
        assert asked <= set(exported()), query
        assert 'namespace="$namespace"' in query, query
        labels = set(re.findall(r'([a-z_]+)=~?"', query))
        for group in re.findall(r"\bby \(([^)]*)\)", query):
            labels |= {label.strip() for label in group.split(",")}
        known = set().union(*(exported()[name] for name in asked))
        assert labels - ADDED <= known, query


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_have_names_of_their_own_and_legends_that_are_labels(path: Path) -> None:
    board = json.loads(path.read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for target in panel.get("targets", ()):
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                assert re.search(rf"\bby \([^)]*\b{label}\b", target["expr"]), target


def test_the_queue_that_is_scaled_by_is_a_metric() -> None:
    text = (CHART / "values.yaml").read_text()
    (named,) = re.findall(r"queueMetric: (\w+)", text)
    assert named in exported()


def test_both_dashboards_together_show_every_metric() -> None:
    shown = " ".join(query for path in DASHBOARDS for query in queries(path))
    families = {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in exported()}
    assert {name for name in families if name not in shown} == set()

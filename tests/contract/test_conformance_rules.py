"""Each rule that `footnote conformance` checks is in a comment of the contracts, word for word."""

import json
from pathlib import Path

import pytest
from footnote_cli.main import app
from footnote_conformance import rules
from footnote_conformance.rules import comments, places_of
from footnote_conformance.stages import STAGES, suite_of
from footnote_conformance.suite import Check
from footnote_conformance.table import methods_without_a_check, written
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
_OF_PROVIDERS = {"ValidateProvider", "CheckProvider"}  # what settings are right, and what is reached, is the make's own
UNTESTED = {
    "ingestion": {
        "GetDocument",  # by the rules of UploadDocument
        "GetIsolation",  # a sentence for people
        *{"DescribeTables", "ReadTable", "QueryTables", "ComputeAnswer"},  # may be left UNIMPLEMENTED
    },
    "indexing": {
        *_OF_PROVIDERS,
        *{"IndexMessages", "DeleteMessages"},  # by what retrieval's SearchMemory finds
    },
    "retrieval": {"ResolveSettings"},  # by the rules of Retrieve
    "augmentation": {*_OF_PROVIDERS, "ListProviders"},
    "generation": {
        *_OF_PROVIDERS,
        *{"RewriteQuestion", "WriteTableQuery"},  # a model's words
    },
}
"""Methods of which no check quotes a sentence, with why."""
CHECKS = [pytest.param(stage, check, id=f"{stage}-{check.name}") for stage in STAGES for check in suite_of(stage)]


@pytest.mark.parametrize(("stage", "check"), CHECKS)
def test_the_rules_of_a_check_stand_in_the_contract(stage: str, check: Check) -> None:
    assert check.rules
    for rule in check.rules:
        places = places_of(stage, rule)
        assert places, f"no comment of footnote.{stage}.v1 or footnote.types.v1 says: {rule}"
        assert len(places) == 1, f"several comments say it, so name the element ({places}): {rule}"


def test_a_sentence_that_is_taken_out_of_a_comment_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {stage: comments(stage) for stage in STAGES}
    for stage in STAGES:
        for check in suite_of(stage):
            for rule in check.rules:
                (place,) = places_of(stage, rule)
                without = {name: text for name, text in said[stage].items() if name != place}
                with monkeypatch.context() as patch:
                    patch.setattr(rules, "comments", lambda stage, left=without: left)
                    assert places_of(stage, rule) == []


def test_what_no_contract_says_is_not_found() -> None:
    assert places_of("retrieval", "Chunks come in alphabetical order.") == []
    assert places_of("retrieval", "RetrieveResponse.chunks: Results to skip.") == []


def test_a_sentence_of_another_stage_does_not_bind() -> None:
    assert places_of("generation", "Markers are never split between two deltas.")
    assert places_of("retrieval", "Markers are never split between two deltas.") == []


def test_the_command_says_where_each_rule_stands() -> None:
    done = CliRunner().invoke(app, ["conformance", "retrieval", "--list", "--json"])
    assert done.exit_code == 0, done.output
    listed = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
    rule = "The MAC is checked over the received bytes, never over a reserialised message."
    assert listed["a-scope-counts-as-it-travels"] == {
        "check": "a-scope-counts-as-it-travels",
        "says": rule,
        "rules": [{"rule": rule, "stands_at": ["footnote.stages.v1.Scope"]}],
    }
    assert all(rule["stands_at"] for one in listed.values() for rule in one["rules"])


def test_the_table_of_rules_is_current() -> None:
    page = (ROOT / "docs" / "contract-rules.md").read_text(encoding="utf-8")
    assert written(page) == page, "run: python -m footnote_conformance.table docs/contract-rules.md"


@pytest.mark.parametrize("stage", STAGES)
def test_every_method_has_a_check_or_is_named(stage: str) -> None:
    assert methods_without_a_check(stage) == UNTESTED.get(stage, set())

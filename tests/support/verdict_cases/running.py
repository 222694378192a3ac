"""Runs a file of cases through `VerifyStatements` of a real generation service over gRPC."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_generation.app import build
from footnote_kit.testing import SCOPE, serve_app

from support.doubles.model_chat import Finish, ModelServer, Say, Step, serve_model

Case = dict[str, Any]
_HOLDS: dict[str, Callable[[set[str]], bool]] = {
    "SUPPORTED": lambda names: names == {"SUPPORTED"},
    "NOT_SUPPORTED": lambda names: "SUPPORTED" not in names,
    "NOT_UNSUPPORTED": lambda names: "UNSUPPORTED" not in names,
}


@dataclass
class Result:
    """Counts by label and verdict, how many expectations there are by label, and which failed."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str, str, list[str]]] = field(default_factory=list)

    def count(self, label: str, verdict: str) -> int:
        """Return how many expectations of a label came out as a verdict."""
        return self.verdicts[label, verdict]


def load(path: Path) -> list[Case]:
    """Return the cases of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


class Reader:
    """A scripted model: says what the cases' perfect reader says, but for every so many words the contrary."""

    def __init__(self, errs: float) -> None:
        self.opinions: Mapping[str, Mapping[str, Any]] = {}
        """What the perfect reader says of the case that is being judged, by span."""
        self._every = round(1 / errs) if errs else 0
        self._said = 0

    def answer(self, body: dict[str, Any]) -> Sequence[Step]:
        """Return the model's answer to a request."""
        asked = json.loads(body["messages"][-1]["content"])
        passages = asked["passages"]
        said = [self._of(one["statement"], one["text"], passages[one["passage"]]) for one in asked["statements"]]
        return [Say([json.dumps({"verdicts": said}, ensure_ascii=False)]), Finish()]

    def _of(self, number: int, statement: str, passage: str) -> dict[str, Any]:
        alike = [
            (abs(len(span) - len(statement)), span)
            for span in self.opinions
            if _bare(span) in _bare(statement) or _bare(statement) in _bare(span)
        ]
        known = [(span, self.opinions[span]) for _, span in sorted(alike)]
        known = [(span, one) for span, one in known if all(quote in passage for quote in one["quotes"])]
        if not known:
            return {"statement": number, "verdict": "not_supported", "quotes": []}
        verdict = known[0][1]["verdict"]
        self._said += 1
        if self._every and self._said % self._every == 0:
            verdict = "not_stated" if verdict == "supports" else "supports"
        name = {"supports": "supported", "contradicts": "contradicted"}.get(verdict, "not_supported")
        quotes = [quote for _, one in known for quote in one["quotes"]]
        return {"statement": number, "verdict": name, "quotes": quotes[:5]}


def _bare(text: str) -> str:
    return "".join(char for char in text if char.isalnum()).casefold()


def source(given: Mapping[str, Any]) -> types.Source:
    """Return a source of a case, its table as a parser would have kept it."""
    made = types.Source(
        number=given["number"], filename=given.get("filename", ""), title=given.get("title", ""), text=given["text"]
    )
    made.locator.heading_path.extend(given.get("headings") or ())
    if table := given.get("table"):
        _add_table(made, table)
    return made


def _add_table(made: types.Source, table: Mapping[str, Any]) -> None:
    kept = made.tables.add(number=1, name=table.get("name", ""))
    for at, headers in enumerate(table["columns"]):
        kept.columns.add(headers=headers, names_rows=at in table.get("names_rows", []))
    first = table.get("first_cell", "A1")
    column = ord(first.rstrip("0123456789")) - ord("A")
    top = int(first.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) + max(len(headers) for headers in table["columns"])
    if table.get("sheet"):
        last = f"{chr(ord('A') + column + len(table['columns']) - 1)}{top + len(table['rows']) - 1}"
        made.locator.sheet.sheet, made.locator.sheet.range = table["sheet"], f"{first}:{last}"
    at = 0
    for row, cells in enumerate(table["rows"], top):
        for place, text in enumerate(cells):
            if not text:
                continue
            start = made.text.index(text, at)
            at = start + len(text)
            anchor = made.anchors.add()
            anchor.span.start, anchor.span.end = start, at
            if table.get("sheet"):
                anchor.locator.sheet.sheet = table["sheet"]
                anchor.locator.sheet.range = f"{chr(ord('A') + column + place)}{row}"
            anchor.cell.table, anchor.cell.row, anchor.cell.column = 0, row, place + 1
            try:
                anchor.cell.number = float(text.replace(",", "."))
            except ValueError:
                continue


@asynccontextmanager
async def serving(reader: Reader) -> AsyncIterator[GenerationServiceStub]:
    """Serve generation with a scripted reader as its model."""
    with pytest.MonkeyPatch.context() as patch:
        async with serve_model() as model:
            _configure(patch, model)
            model.respond(reader.answer)
            async with serve_app(build) as served:
                yield GenerationServiceStub(served.channel)


def _configure(patch: pytest.MonkeyPatch, model: ModelServer) -> None:
    patch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
    patch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
    patch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")


async def run(cases: Sequence[Case], errs: float | None = None) -> Result:
    """Judge all cases, with a reader that errs in a share of its words or with none."""
    result = Result()
    reader = Reader(errs or 0.0)
    async with serving(reader) as stub:
        for case in cases:
            reader.opinions = case.get("opinion") or {}
            answered = await stub.VerifyStatements(
                pb.VerifyStatementsRequest(
                    scope=SCOPE, bounds=TextBounds(), locale="en", answer=case["statement"],
                    sources=[source(one) for one in case["sources"]],
                    settings=GenerationSettings(second_opinion=errs is not None),
                )
            )  # fmt: skip
            _judge(case, answered, result)
    return result


def _judge(case: Case, answered: pb.VerifyStatementsResponse, result: Result) -> None:
    for one in case["expect"]:
        start = answered.text.find(one["span"])
        end = start + len(one["span"])
        touched = [
            claim
            for claim in answered.claims
            if claim.span.start < end and start < claim.span.end and claim.support != types.VERDICT_NOT_A_CLAIM
        ]
        names = {types.Verdict.Name(claim.support).removeprefix("VERDICT_") for claim in touched}
        bases = {types.Basis.Name(claim.basis).removeprefix("BASIS_") for claim in touched if claim.basis}
        result.expected[case["label"]] += 1
        result.verdicts.update((case["label"], name) for name in names)
        right = bool(touched) and start >= 0 and _HOLDS[one["verdict"]](names)
        if not right or (one.get("basis") and bases != {one["basis"]}):
            result.failed.append((case["id"], one["span"], one["verdict"], sorted(names | bases)))

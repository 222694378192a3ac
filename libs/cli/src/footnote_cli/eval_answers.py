"""`footnote eval answers`: asks a running deployment golden questions and grades its answers."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
from footnote.edge.v1.answers_pb2 import ANSWER_PART_CLAIMS, AskCompleted, AskRequest
from footnote.edge.v1.evaluations_pb2 import CreateEvaluationRunRequest, EvaluationGrade
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER
from footnote_kit.degradations import word
from google.protobuf.json_format import ParseDict, ParseError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from footnote_cli.command import connected
from footnote_cli.console import print_json
from footnote_cli.errors import CommandError, usage_error
from footnote_cli.evaluation.dataset import DatasetError
from footnote_cli.evaluation.golden import Message, Question, load, parse_run
from footnote_cli.evaluation.grading import CHANCE, Change, Graded, Outcome, by_tag, compare, grade, sign_test
from footnote_cli.render import answer
from footnote_cli.session import Session

_PANEL = "Thresholds, for the exit code"
_MOST_SAVED = 1000
_LONGEST_LABEL = 200
_FIXED = ("question", "collections", "history", "include", "conversation_id", "request_id")


@dataclass(frozen=True, slots=True)
class _Way:
    """A variant of asking: its name, and the request without the question."""

    name: str
    request: AskRequest


@connected("footnote eval answers")
async def answers(
    session: Session,
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="Golden questions, one JSON a line.")],
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Ask this collection; repeatable. Default: all."),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:MODEL]", help="Model provider that answers; repeatable: each is a run."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=JSON",
            help='A run with these fields of AskRequest: wide={"retrieval": {"limit": 12}}; repeatable.',
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN.json", help="Compare with what --out wrote earlier.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="RUN.json", help="Write all grades as JSON.")] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Keep questions and grades with the collection, for the console.")
    ] = False,
    parallel: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Questions asked at once.")] = 1,
    show: Annotated[bool, typer.Option("--show", help="Print each answer that is not good.")] = False,
    min_right: Annotated[
        float | None,
        typer.Option(min=0, max=1, rich_help_panel=_PANEL, help="Least share right or rightly refused."),
    ] = None,
    max_wrong: Annotated[
        float | None, typer.Option(min=0, max=1, rich_help_panel=_PANEL, help="Greatest share of wrong answers.")
    ] = None,
    max_wrong_supported: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=_PANEL, help="Most wrong answers with a verdict SUPPORTED.")
    ] = None,
    min_refused: Annotated[
        float | None,
        typer.Option(min=0, max=1, rich_help_panel=_PANEL, help="Least share refused of what is not there."),
    ] = None,
    min_files: Annotated[
        float | None,
        typer.Option(min=0, max=1, rich_help_panel=_PANEL, help="Least share of footnotes on the right file."),
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", rich_help_panel=_PANEL, help="Fail where the sign test says worse.")
    ] = False,
) -> None:
    """Ask golden questions and grade the answers; several runs, or an earlier one, are compared by a sign test.

    The exit code is 1 where a question failed or a run misses a threshold. See docs/evaluating.md.
    """
    try:
        asked = load(questions)
        before = parse_run(against.read_text(encoding="utf-8-sig")) if against else None
    except (DatasetError, OSError, UnicodeDecodeError) as error:
        raise usage_error(str(error)) from None
    if save:
        _check_savable(collection or (), asked)
    ways = _ways(collection or (), provider or (), setting or ())
    if fail_if_worse:
        _check_comparable(ways, asked, before)
    runs = []
    for way in ways:
        grades = await _ask_all(session, asked, way, parallel)
        runs.append(
            {
                "name": way.name,
                "figures": by_tag(asked, grades),
                "answers": {
                    question.id: {"question": question.question, **grades[question.id].as_dict()} for question in asked
                },
            }
        )
    result: dict[str, Any] = {"questions": questions.name, "runs": runs}
    changes = _changes(before, runs)
    result["compared"] = [
        {"run": name, "with": other, "shared": one.shared, "better": one.better, "worse": one.worse, "p": one.p}
        for name, other, one in changes
    ]
    limits = {
        "good": (min_right, 1), "wrong_share": (max_wrong, -1), "wrong though supported": (max_wrong_supported, -1),
        "absent refused": (min_refused, 1), "footnote file": (min_files, 1),
    }  # fmt: skip
    result["missed"] = [miss for run in runs for miss in _missed(run, limits)]
    if fail_if_worse:
        result["missed"] += [f"{name}: worse than {other}" for name, other, one in changes if one.is_worse]
    unsaved: CommandError | None = None  # the grades may have cost hours: they are shown first
    try:
        if out is not None:
            await asyncio.to_thread(out.write_text, json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        unsaved = CommandError(f"{out} cannot be written: {error.strerror}.", "Write to another file by --out.")
    if save:
        result["saved"] = []
        try:
            for run in runs:
                result["saved"].append(await _save(session, (collection or [""])[0], questions.name, run))
        except CommandError as error:
            unsaved = error
    if session.as_json:
        print_json(result)
    else:
        answer.show(session.out, result, answers=show)
        for saved in result.get("saved", ()):
            session.out.print(f"Kept as {saved}.")
    if unsaved is not None:
        raise unsaved
    if result["missed"]:
        raise typer.Exit(1)


def _check_savable(collections: Sequence[str], questions: Sequence[Question]) -> None:
    if len(collections) != 1:
        raise usage_error("--save keeps runs with one collection.", "Name it by --collection.")
    if len(questions) > _MOST_SAVED:
        raise usage_error(f"--save keeps at most {_MOST_SAVED} questions.", "Split the file, or write it by --out.")


def _check_comparable(ways: Sequence[_Way], questions: Sequence[Question], before: Mapping[str, Any] | None) -> None:
    """Raise CommandError where no run could be worse than another: a gate of a build would never close."""
    if before is None and len(ways) < 2:
        raise usage_error(
            "--fail-if-worse has nothing to compare with.",
            "Give --against RUN.json, or several --provider or --setting.",
        )
    shared = sum(
        before is None or _is_same(question.question, before["answers"].get(question.id)) for question in questions
    )
    if not shared:
        raise usage_error(
            "--fail-if-worse has nothing to compare with: no question has the id and text of one of the earlier run.",
            "Give --against a run of these questions.",
        )
    least = next(count for count in itertools.count(1) if sign_test(0, count) < CHANCE)
    if shared < least:
        raise usage_error(
            f"--fail-if-worse needs at least {least} questions in both runs: {shared}, all worse, could be chance.",
            "Ask more questions, or give thresholds instead.",
        )


def _is_same(question: str, earlier: Mapping[str, Any] | None) -> bool:
    """Return whether an earlier run's answer is to this question; ids alone may be those of other questions."""
    return earlier is not None and earlier.get("question", question) == question


async def _save(session: Session, collection: str, filename: str, run: Mapping[str, Any]) -> str:
    """Keep the questions and grades of a run with its collection, without the answers; return its id."""
    request = CreateEvaluationRunRequest(collection=collection, request_id=uuid4().hex)
    request.run.label, request.run.filename = run["name"][:_LONGEST_LABEL], filename
    for id, one in run["answers"].items():
        grade = EvaluationGrade.Value(f"EVALUATION_GRADE_{one['outcome'].replace(' ', '_').upper()}")
        request.run.questions.add(id=id, question=one["question"], grade=grade)
    saved: str = (await session.call(session.stub.CreateEvaluationRun, request)).run.id
    return saved


def _ways(collections: Sequence[str], providers: Sequence[str], settings: Sequence[str]) -> list[_Way]:
    """Return the requested runs: one per provider, one per setting, or one with the deployment's defaults."""
    ways = []
    for name in providers:
        request = AskRequest(collections=collections)
        request.generation.provider, _, request.generation.model = name.partition(":")
        ways.append(_Way(name, request))
    for text in settings:
        name, parted, value = text.partition("=")
        try:
            if not parted:
                raise ValueError("it has no '='")
            request = ParseDict(json.loads(value), AskRequest())
        except (ValueError, ParseError) as error:
            raise usage_error(f"--setting {text} cannot be read: {error}", "Give NAME=JSON.") from None
        if given := [field.name for field, _ in request.ListFields() if field.name in _FIXED]:
            raise usage_error(f"--setting {name} sets {', '.join(given)}.", "Questions and options of their own do.")
        request.collections.extend(collections)
        ways.append(_Way(name, request))
    return ways or [_Way("default", AskRequest(collections=collections))]


async def _ask_all(session: Session, questions: Sequence[Question], way: _Way, parallel: int) -> dict[str, Graded]:
    grades: dict[str, Graded] = {}
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    room = asyncio.Semaphore(parallel)
    with Progress(*columns, console=session.err, transient=True) as progress:
        bar = progress.add_task(f"{len(questions)} questions, {way.name}", total=len(questions))

        async def one(question: Question) -> None:
            async with room:
                grades[question.id] = await _graded(session, question, way.request)
                progress.advance(bar)

        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(one(question))
    return grades


async def _graded(session: Session, question: Question, base: AskRequest) -> Graded:
    """Ask one question after its history and grade the answer; a failed call gets a grade too."""
    request = AskRequest(question=question.question, include=[ANSWER_PART_CLAIMS])
    request.MergeFrom(base)
    try:
        for said in question.history:
            if isinstance(said, Message):
                request.history.add(role=said.number, text=said.text)
                continue
            earlier = AskRequest(question=said, history=request.history)
            earlier.MergeFrom(base)
            completed, *_ = await _asked(session, earlier)
            request.history.add(role=MESSAGE_ROLE_USER, text=said)
            request.history.add(role=MESSAGE_ROLE_ASSISTANT, text=completed.answer.text)
        completed, took, first = await _asked(session, request)
    except CommandError as error:
        return Graded(Outcome.FAILED, error=str(error))
    usage = completed.answer.usage
    return replace(
        grade(question, completed.answer),
        degradations=tuple(word(one) for one in completed.degradations),
        milliseconds=round(took, 1),
        first_word=None if first is None else round(first, 1),
        tokens=usage.prompt_tokens + usage.completion_tokens,
        cost_usd=usage.cost_usd if usage.HasField("cost_usd") else None,
    )


async def _asked(session: Session, request: AskRequest) -> tuple[AskCompleted, float, float | None]:
    """Return the end of an answer, and the milliseconds to it and to its first word."""
    began = time.perf_counter()
    first: float | None = None
    async for event in session.stream(session.stub.Ask, request):
        kind = event.WhichOneof("event")
        if kind == "text_delta" and first is None:
            first = 1000 * (time.perf_counter() - began)
        elif kind == "completed":
            return event.completed, 1000 * (time.perf_counter() - began), first
    raise CommandError("The server ended the answer without completing it.")


def _changes(before: Mapping[str, Any] | None, runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Change]]:
    """Compare every run with the earlier one; without one, the later runs with the first."""
    first = runs[0] if before is None else {**before, "name": f"{before['name']} before"}
    later = runs[1:] if before is None else runs
    return [(run["name"], first["name"], compare(_outcomes(first, run), _outcomes(run, run))) for run in later]


def _outcomes(run: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Outcome]:
    """Return a run's grades of the questions that another one asked."""
    texts = {id: str(one["question"]) for id, one in asked["answers"].items()}
    return {
        id: Outcome(one["outcome"]) for id, one in run["answers"].items() if id in texts and _is_same(texts[id], one)
    }


def _missed(run: Mapping[str, Any], limits: Mapping[str, tuple[float | None, int]]) -> list[str]:
    """Return whether questions failed, and each threshold that a run misses; a share of no grades misses none."""
    found = run["figures"]["all"]
    failed = [f"{run['name']}: {found['failed']} of {found['questions']} questions failed"] if found["failed"] else []
    return failed + [
        f"{run['name']}: {name} is {found[name]:.3g}, {'at least' if sign > 0 else 'at most'} {limit:g} was wanted"
        for name, (limit, sign) in limits.items()
        if limit is not None and found[name] is not None and sign * found[name] < sign * limit
    ]

# ruff: noqa: E501 - tables of cases
"""`footnote eval answers`: what is read, how answers are graded, and runs against an edge."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.evaluations_pb2 import (
    EVALUATION_GRADE_RIGHT,
    CreateEvaluationRunRequest,
    CreateEvaluationRunResponse,
    EvaluationGrade,
)
from footnote.types.v1 import answer_pb2
from footnote.types.v1.locator_pb2 import LineLocator, Locator, PageLocator, SheetLocator
from footnote_cli.evaluation.dataset import DatasetError
from footnote_cli.evaluation.golden import Question, load, matches
from footnote_cli.evaluation.grading import Outcome, by_tag, compare, grade, is_at, sign_test
from footnote_cli.main import app
from footnote_kit.errors import PermissionDenied
from support.doubles.scripted_edge import ScriptedEdge, served
from typer.testing import CliRunner, Result

LEAVE = {
    "id": "leave",
    "question": "How many days?",
    "tags": ["time"],
    "must": [["27", "twenty-seven"], "paid leave"],
    "footnotes": [{"file": "handbook.pdf"}],
}


def question(**fields: Any) -> Question:
    return Question.model_validate({"id": "q", "question": "?", "must": ["27"], **fields})


def answer(text: str, **fields: Any) -> answer_pb2.Answer:
    return answer_pb2.Answer(text=text, finish_reason=answer_pb2.FINISH_REASON_ANSWERED, **fields)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 1"), ('{"id": "a", "question": "?"}', "'must' or 'footnotes'"), ('{"id": "a", "question": "?", "must": ["/(/"]}', "regular expression"),
        ('{"id": "a", "question": "?", "must": [" "]}', "empty"), ('{"id": "a", "question": "?", "must": ["x"], "mustnt": []}', "mustnt"),
        ('{"id": "a", "question": "?", "must": ["x"]}\n' * 2, "twice"), ("", "no questions"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(line)
    with pytest.raises(DatasetError, match=says):
        load(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_ends_where_json_lines_end(tmp_path: Path, end: str) -> None:
    path = tmp_path / "q.jsonl"
    lines = [
        question(id=f"q{at}", question=f"one{sign}two?").model_dump_json() for at, sign in enumerate("\u2028\u2029\x85")
    ]
    path.write_bytes("".join(line + end for line in lines).encode())
    assert [one.question for one in load(path)] == ["one\u2028two?", "one\u2029two?", "one\x85two?"]


@pytest.mark.parametrize(
    ("wanted", "text", "held"),
    [
        ("27", "Every one has 27 days.", True), ("27", "It is 127.", False), ("27", "It is 27.5.", False), ("1.2", "4.1.2", False),
        ("12 450", "12\u202f450 Euro", True), ("-136", "it was \u2212136", True), ("art", "part", False), ("三个月", "试用期三个月。", True),
        ("/28\\s?%/", "un 28 % menos", True), ("Paid Leave", "paid\nleave", True), ("27", "27", True),
        ("нет", "Подключите интернет.", False), ("нет", "Нет, нельзя.", True), ("да", "Это дата.", False), ("été", "Il a répété.", False),
        ("über", "gegenüber", False), ("Größe", "Die Größe", True), ("έτος", "το έτος", True), ("ليون", "وليون", True), ("기간", "기간은", True),
        ("/Straße \\d+/", "Die Straße\u00a012", True), ("/l’année/", "… l’année 2020", True), ("/10–12/", "Räume 10–12", True), ("/m²/", "20 m²", True),
        ("/année/", "l’ann\u0065\u0301e", True), ("/l'année/", "L’ANNÉE", True),
    ],
)  # fmt: skip
def test_texts_are_held_as_whole_words_and_numbers(wanted: str, text: str, held: bool) -> None:
    assert matches(wanted, text) is held


def test_grades() -> None:
    two = question(must=["27", ["paid", "bezahlt"]], must_not=["30"])
    assert grade(two, answer("27 days bezahlt [1].")).outcome is Outcome.RIGHT
    assert grade(two, answer("27 days [1].")).outcome is Outcome.PART
    assert grade(two, answer("27 or 30 paid days.")).outcome is Outcome.WRONG
    assert grade(two, answer("None [27].")).outcome is Outcome.WRONG  # a marker is no number
    refused = answer_pb2.Answer(text="27 paid", finish_reason=answer_pb2.FINISH_REASON_NO_RELEVANT_CONTENT)
    assert grade(two, refused).outcome is Outcome.REFUSED_WRONGLY
    absent = question(expect="absent", must=[], accept=["undecided"])
    assert grade(absent, refused).outcome is Outcome.REFUSED_RIGHTLY
    assert grade(absent, refused).offered is None
    assert grade(absent, answer("27.")).outcome is Outcome.WRONG
    assert grade(absent, answer("It is undecided.")).outcome is Outcome.RIGHT
    absent = question(expect="absent", must=[], accept=["undecided"], must_not=["approved"])
    assert grade(absent, answer("It was approved; before, it was undecided.")).outcome is Outcome.WRONG
    assert grade(absent, answer("It is undecided.")).outcome is Outcome.RIGHT


def test_footnotes_are_judged_by_file_and_place() -> None:
    here = answer_pb2.Citation(filename="a.pdf", locator=Locator(page=PageLocator(page=3, last_page=4)))
    both = [{"file": "a.pdf", "place": "page 4"}, {"file": "b.pdf"}]
    assert (grade(question(footnotes=both[:1]), answer("27", citations=[here])).place) is True
    graded = grade(question(footnotes=both), answer("27", citations=[here]))
    assert (graded.file, graded.place) == (False, True)
    assert grade(question(footnotes=both, footnotes_need="any"), answer("27", citations=[here])).file is True
    either = [{"file": "b.pdf", "or": [{"file": "a.pdf", "place": "page 3"}]}]
    assert grade(question(footnotes=either), answer("27", citations=[here])).file is True
    assert grade(question(must=[], footnotes=both[1:]), answer("27", citations=[here])).outcome is Outcome.WRONG


@pytest.mark.parametrize(
    ("locator", "place", "there"),
    [
        (Locator(lines=LineLocator(first_line=5, last_line=9)), "line 9", True), (Locator(lines=LineLocator(first_line=5, last_line=9)), "line 10", False),
        (Locator(sheet=SheetLocator(sheet="Stocks", range="C12")), "Stocks!C12", True), (Locator(sheet=SheetLocator(sheet="Stocks", range="C12")), "Other!C12", False),
        (Locator(sheet=SheetLocator(range="A6:D6")), "line 6", True), (Locator(sheet=SheetLocator(range="A6:D6")), "line 7", False),
        (Locator(heading_path=["Time off"]), "time off", True), (Locator(page=PageLocator(page=1)), "page 2", False),
    ],
)  # fmt: skip
def test_places(locator: Locator, place: str, there: bool) -> None:
    assert is_at(answer_pb2.Citation(filename="a", locator=locator), place) is there


def test_figures_by_tag_and_wrong_though_supported() -> None:
    asked = [
        question(id="a", tags=["x"]),
        question(id="b", tags=["x"], language="de"),
        question(id="c", expect="absent", must=[]),
    ]
    claim = answer_pb2.Claim(support=answer_pb2.VERDICT_SUPPORTED)
    grades = {
        "a": grade(asked[0], answer("27")), "b": grade(asked[1], answer("26", claims=[claim])), "c": grade(asked[2], answer("26")),
    }  # fmt: skip
    found = by_tag(asked, grades)
    assert (found["all"]["good"], found["all"]["wrong"], found["all"]["wrong though supported"]) == (1 / 3, 2, 1)
    assert (found["x"]["good"], found["language de"]["good"], found["expect absent"]["absent refused"]) == (
        0.5,
        0.0,
        0.0,
    )


def test_runs_are_compared_by_a_sign_test() -> None:
    assert (sign_test(0, 0), sign_test(1, 0), sign_test(8, 0)) == (1.0, 1.0, 2 / 256)
    before = {str(n): Outcome.RIGHT for n in range(8)}
    found = compare(before, {**dict.fromkeys(before, Outcome.REFUSED_WRONGLY), "new": Outcome.RIGHT})
    assert (found.shared, len(found.worse), found.is_worse) == (8, 8, True)
    assert compare({"a": Outcome.WRONG}, {"a": Outcome.REFUSED_WRONGLY}).better == ("a",)


@pytest.fixture
def address() -> Iterator[str]:
    """Where edge's double listens."""
    with served(ScriptedEdge()) as address:
        yield address


def test_runs_thresholds_and_comparison(tmp_path: Path, address: str) -> None:
    path, out = tmp_path / "golden.jsonl", tmp_path / "run.json"
    absent = {
        "id": "gone",
        "question": "What is gone?",
        "expect": "absent",
        "history": ["How many?", {"role": "assistant", "text": "27"}],
    }
    path.write_text("\n".join(map(json.dumps, (LEAVE, absent))))
    arguments = ["eval", "answers", str(path), "--address", address]
    first = CliRunner().invoke(app, [*arguments, "--provider", "builtin", "--out", str(out)])
    assert first.exit_code == 0, first.output
    assert "first word" in first.output
    kept = json.loads(out.read_text())["runs"][0]
    assert kept["answers"]["leave"]["outcome"] == "right"
    assert kept["answers"]["leave"]["file"] is True
    assert kept["answers"]["gone"]["outcome"] == "wrong"
    second = CliRunner().invoke(
        app, [*arguments, "--against", str(out), "--json", "--max-wrong", "0.1", "--min-right", "0.5"]
    )
    assert second.exit_code == 1
    result = json.loads(second.stdout)
    assert result["missed"] == ["default: wrong_share is 0.5, at most 0.1 was wanted"]
    assert (result["compared"][0]["shared"], result["compared"][0]["p"]) == (2, 1.0)


def test_a_question_that_failed_closes_the_gate_and_counts_for_no_time(tmp_path: Path, address: str) -> None:
    path, out = tmp_path / "golden.jsonl", tmp_path / "run.json"
    failing = [{**LEAVE, "id": f"f{at}", "question": "boom"} for at in range(2)]
    path.write_text("\n".join(map(json.dumps, (LEAVE, *failing))))
    arguments = ["eval", "answers", str(path), "--out", str(out)]
    open_wide = ["--max-wrong", "1", "--max-wrong-supported", "9", "--min-right", "0", "--min-files", "0"]
    for more in ([], open_wide):
        run = CliRunner().invoke(app, [*arguments, *more, "--address", address], env={"COLUMNS": "200"})
        assert run.exit_code == 1
        assert json.loads(out.read_text())["missed"] == ["default: 2 of 3 questions failed"]
        assert "default: 2 of 3 questions failed" in run.output
        assert json.loads(out.read_text())["runs"][0]["figures"]["all"]["ms"]["p50"] > 0
        assert CliRunner().invoke(app, [*arguments, *more, "--address", "127.0.0.1:1"]).exit_code == 1


@pytest.mark.parametrize(
    ("quote", "filename", "offered"),
    [
        ("You have 27 days.", "handbook.pdf", True),
        ("You have 30 days.", "handbook.pdf", False),
        ("You have 27 days.", "other.pdf", False),
        ("Of 27 days, 30 are paid.", "handbook.pdf", False),
        ("", "handbook.pdf", False),
    ],
)
def test_a_passage_offered_with_a_wrong_refusal_is_counted_where_it_answers(
    quote: str, filename: str, offered: bool
) -> None:
    asked = question(footnotes=[{"file": "handbook.pdf"}], must_not=["30"])
    refused = answer_pb2.Answer(
        text="I found none.",
        finish_reason=answer_pb2.FINISH_REASON_NO_RELEVANT_CONTENT,
        nearest=answer_pb2.Citation(quote=quote, filename=filename),
    )
    graded = grade(asked, refused)
    assert (graded.outcome, graded.offered) == (Outcome.REFUSED_WRONGLY, offered)
    assert by_tag([asked], {"q": graded})["all"]["offered"] == int(offered)


def test_a_gate_that_could_never_close_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    edge, path, other = ScriptedEdge(), tmp_path / "golden.jsonl", tmp_path / "other.json"

    def ask(count: int) -> None:
        path.write_text("\n".join(json.dumps({**LEAVE, "id": f"leave{at}"}) for at in range(count)))

    def keep(name: str, **more: str) -> None:
        kept = {f"{name}{at}": {"outcome": "right", **more} for at in range(6)}
        other.write_text(json.dumps({"runs": [{"name": "default", "answers": kept}]}))

    with served(edge) as address:
        arguments = ["eval", "answers", str(path), "--address", address, "--fail-if-worse"]
        against, two = ["--against", str(other)], ["--provider", "a", "--provider", "b"]

        def refusal(*more: str) -> str:
            refused = CliRunner().invoke(app, [*arguments, *more])
            assert refused.exit_code == 2, refused.output
            return " ".join(refused.stderr.split())

        ask(6)
        assert "nothing to compare with" in refusal()
        keep("renamed")
        assert "nothing to compare with" in refusal(*against)
        keep("leave", question="How much?")
        assert "nothing to compare with" in refusal(*against)
        ask(5)
        keep("leave")
        for more in (against, two):
            assert "at least 6 questions in both runs" in refusal(*more)
        assert not edge.requests
        ask(6)
        for more in (against, two):
            assert CliRunner().invoke(app, [*arguments, *more]).exit_code == 0


def test_runs_are_compared_by_the_same_questions_alone(tmp_path: Path, address: str) -> None:
    path, other = tmp_path / "golden.jsonl", tmp_path / "other.json"
    path.write_text("\n".join(json.dumps({**LEAVE, "id": name}) for name in ("1", "2")))
    kept = {"1": {"outcome": "wrong", "question": "How many days?"}, "2": {"outcome": "wrong", "question": "How much?"}}
    other.write_text(json.dumps({"runs": [{"name": "default", "answers": kept}]}))
    arguments = ["eval", "answers", str(path), "--address", address, "--against", str(other), "--json"]
    (compared,) = json.loads(CliRunner().invoke(app, arguments).stdout)["compared"]
    assert (compared["shared"], compared["better"]) == (1, ["1"])


def test_grades_are_shown_although_they_cannot_be_kept(tmp_path: Path) -> None:
    class Refusing(ScriptedEdge):
        async def CreateEvaluationRun(self, request: Any, context: Any) -> CreateEvaluationRunResponse:
            raise PermissionDenied("You may not write to the collection 'hr'")

    path, nowhere = tmp_path / "golden.jsonl", tmp_path / "none" / "run.json"
    path.write_text(json.dumps(LEAVE))
    with served(Refusing()) as address:
        arguments = ["eval", "answers", str(path), "-c", "hr", "--json", "--address", address]
        for more, why in ((["--save"], "You may not write"), (["--out", str(nowhere)], "cannot be written")):
            result = CliRunner().invoke(app, [*arguments, *more])
            assert result.exit_code == 1
            assert json.loads(result.stdout)["runs"][0]["answers"]["leave"]["outcome"] == "right"
            assert why in result.stderr


def test_a_run_is_kept_listed_and_deleted(tmp_path: Path) -> None:
    edge, path = ScriptedEdge(), tmp_path / "golden.jsonl"
    path.write_text(json.dumps(LEAVE))
    with served(edge) as address:

        def run(*arguments: str) -> Result:
            return CliRunner().invoke(app, ["eval", *arguments, "--address", address])

        assert run("answers", str(path), "--save").exit_code == 2, "it is not said with which collection"
        assert run("answers", str(path), "-c", "a", "-c", "b", "--save").exit_code == 2
        assert not edge.requests
        saved = run("answers", str(path), "-c", "hr", "--provider", "builtin", "--provider", "other", "--save")
        assert saved.exit_code == 0, saved.output
        assert "Kept as run1." in saved.output
        kept = [one for one in edge.requests if isinstance(one, CreateEvaluationRunRequest)]
        assert [one.run.label for one in kept] == ["builtin", "other"]
        assert len({one.request_id for one in kept}) == 2
        assert (kept[0].collection, kept[0].run.filename) == ("hr", "golden.jsonl")
        [only] = kept[0].run.questions
        assert (only.id, only.question, only.grade) == ("leave", "How many days?", EVALUATION_GRADE_RIGHT)
        listed = run("runs", "hr").output
        assert "builtin" in listed
        assert "1 right" in listed
        assert run("delete-run", "run1").exit_code == 2
        assert run("delete-run", "run1", "--yes").exit_code == 0
        assert edge.requests[-1].run_id == "run1"


def test_every_grade_has_its_value_in_the_contract() -> None:
    named = {f"EVALUATION_GRADE_{one.value.replace(' ', '_').upper()}" for one in Outcome}
    assert named == set(EvaluationGrade.keys()) - {"EVALUATION_GRADE_UNSPECIFIED"}


@pytest.mark.parametrize("setting", ["wide", "wide={", 'wide={"question": "x"}', 'wide={"nothing": 1}'])
def test_a_setting_that_cannot_be_used_is_refused(tmp_path: Path, address: str, setting: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(json.dumps(LEAVE))
    result = CliRunner().invoke(app, ["eval", "answers", str(path), "--address", address, "--setting", setting])
    assert result.exit_code == 2
    assert "Traceback" not in result.output

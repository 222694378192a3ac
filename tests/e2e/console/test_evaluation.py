"""Runs of golden questions, of files and kept by a collection: their grades, and what changed between two of them."""

import json
import uuid

import pytest
from footnote_cli.evaluation.grading import Graded, Outcome
from support.console import WITHOUT_AXE, Site, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


def written(**outcomes: Outcome) -> bytes:
    """Return what the command writes of a run."""
    answers = {
        name: {"question": f"How is {name}?", **Graded(one, text=f"It is {one.value}.", missing=("27",)).as_dict()}
        for name, one in outcomes.items()
    }
    return json.dumps({"questions": "golden.jsonl", "runs": [{"name": "default", "answers": answers}]}).encode()


@WITHOUT_AXE
def test_two_runs_are_compared_question_by_question(site: Site) -> None:
    page = site.page("writer")
    page.goto(f"{site.url}#/evaluation")
    files = [
        (
            "before.json",
            written(tea=Outcome.WRONG, milk=Outcome.RIGHT, salt=Outcome.REFUSED_RIGHTLY, fish=Outcome.PART),
        ),
        (
            "now.json",
            written(tea=Outcome.RIGHT, milk=Outcome.FAILED, salt=Outcome.REFUSED_RIGHTLY, fish=Outcome.RIGHT),
        ),
    ]
    page.get_by_label("Open runs").set_input_files(
        [{"name": name, "mimeType": "application/json", "buffer": data} for name, data in files]
    )
    page.get_by_text("Better: 2, worse: 1, of 4 questions.").wait_for()
    grades = {
        one.locator("th").text_content(): one.locator("td").all_text_contents()
        for one in page.locator("tbody tr").all()
    }
    assert grades["right"] == ["1", "2"]
    assert grades["refused rightly"] == ["1", "1"]
    assert grades["failed"] == ["0", "1"]
    rows = page.locator("ul.list > li")
    assert rows.count() == 4
    page.get_by_label("Only what changed").check()
    assert [one.locator(".item-name").text_content() for one in rows.all()] == [
        "How is tea?", "How is milk?", "How is fish?"
    ]  # fmt: skip
    assert "wrong" in rows.first.locator("s").text_content()
    rows.first.locator("summary").click()
    assert rows.first.locator(".said").all_text_contents() == ["It is right.", "It is wrong."]
    barriers(page, "evaluation")
    wrong = {"name": "other.json", "mimeType": "application/json", "buffer": b'{"runs": [{"answers": {"a": {}}}]}'}
    page.get_by_label("Open runs").set_input_files([wrong])
    page.get_by_text("other.json is no run that the command wrote.").wait_for()
    assert rows.count() == 3
    page.context.close()
    page = site.page("reader")
    page.goto(f"{site.url}#/evaluation")
    page.get_by_text("There is no such page").wait_for()
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_a_collection_keeps_its_last_runs_and_says_what_changed(site: Site) -> None:
    page = site.page("writer")
    writer, name = {"x-api-key": site.keys["writer"]}, f"box-{uuid.uuid4().hex[:6]}"
    made = {"name": name, "visibility": "VISIBILITY_PRIVATE"}
    assert page.request.post(f"{site.url}v1/collections", headers=writer, data=made).ok
    for label, grades in (
        ("first", ("WRONG", "RIGHT")),
        ("second", ("RIGHT", "RIGHT")),
        ("third", ("RIGHT", "FAILED")),
    ):
        questions = [
            {"id": id, "question": f"How is {id}?", "grade": f"EVALUATION_GRADE_{grade}"}
            for id, grade in zip(("tea", "milk"), grades, strict=True)
        ]
        run = {"label": label, "filename": "golden.jsonl", "questions": questions}
        answer = page.request.post(f"{site.url}v1/collections/{name}/evaluations", headers=writer, data={"run": run})
        assert answer.ok, answer.text()
    page.goto(f"{site.url}#/evaluation")
    page.reload()
    page.get_by_label("Collection").select_option(name)
    kept = page.locator(".kept-runs li")
    kept.nth(2).wait_for()
    assert ["third" in one for one in kept.all_text_contents()] == [True, False, False]
    assert "Good: 1 of 2" in kept.first.text_content()
    # The last run is compared with the one before it, and any other with any.
    page.get_by_text("Better: 0, worse: 1, of 2 questions.").wait_for()
    page.locator(".filters select").nth(1).select_option(index=2)
    page.get_by_text("Better: 1, worse: 1, of 2 questions.").wait_for()
    barriers(page, "kept runs")
    files = [
        {"name": "now.json", "mimeType": "application/json", "buffer": written(tea=Outcome.PART, milk=Outcome.RIGHT)}
    ]
    page.get_by_label("Open runs").set_input_files(files)
    page.get_by_text("Better: 1, worse: 1, of 2 questions.").wait_for()
    assert (
        page.locator(".filters select").last.evaluate("(one) => one.selectedOptions[0].textContent")
        == "now.json · default"
    )
    page.get_by_role("button", name="Delete the run").first.click()
    kept.nth(2).wait_for(state="detached")
    assert "second" in kept.first.text_content()
    assert not page.faults
    page.context.close()

"""Runs of golden questions opened in the browser: their grades, and what changed between two of them."""

import json

import pytest
from footnote_cli.evaluation.grading import Graded, Outcome
from support.console import WITHOUT_AXE, Site, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


def run(**outcomes: Outcome) -> bytes:
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
        ("before.json", run(tea=Outcome.WRONG, milk=Outcome.RIGHT, salt=Outcome.REFUSED_RIGHTLY, fish=Outcome.PART)),
        ("now.json", run(tea=Outcome.RIGHT, milk=Outcome.FAILED, salt=Outcome.REFUSED_RIGHTLY, fish=Outcome.RIGHT)),
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

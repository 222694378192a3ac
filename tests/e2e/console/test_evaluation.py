"""Runs of golden questions, of files and kept by a collection: their grades, and what changed between two of them."""

import json
import shlex
import uuid

import pytest
from footnote_cli.evaluation.grading import Graded, Outcome
from support.console import WITHOUT_AXE, Page, Site, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


def written(**outcomes: Outcome) -> bytes:
    """Return what the command writes of a run."""
    answers = {
        name: {"question": f"How is {name}?", **Graded(one, text=f"It is {one.value}.", missing=("27",)).as_dict()}
        for name, one in outcomes.items()
    }
    return json.dumps({"questions": "golden.jsonl", "runs": [{"name": "default", "answers": answers}]}).encode()


def collection_with_runs(page: Page, site: Site, name: str, **runs: tuple[str, ...]) -> None:
    """Make a collection that keeps runs: their labels, with a grade for each of the questions tea and milk."""
    writer = {"x-api-key": site.keys["writer"]}
    made = {"name": name, "visibility": "VISIBILITY_PRIVATE"}
    assert page.request.post(f"{site.url}v1/collections", headers=writer, data=made).ok
    for label, grades in runs.items():
        questions = [
            {"id": id, "question": f"How is {id}?", "grade": f"EVALUATION_GRADE_{grade}"}
            for id, grade in zip(("tea", "milk"), grades, strict=True)
        ]
        run = {"label": label, "filename": "golden.jsonl", "questions": questions}
        answer = page.request.post(f"{site.url}v1/collections/{name}/evaluations", headers=writer, data={"run": run})
        assert answer.ok, answer.text()


def compared(page: Page) -> list[str]:
    """Return the names of the two runs that the page compares."""
    chosen = "all => all.slice(-2).map(one => one.selectedOptions[0]?.textContent)"
    return page.locator(".filters select").evaluate_all(chosen)


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
    # Opened files stay until one signs out.
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("heading", name="Services").wait_for()
    page.get_by_role("link", name="Evaluation").click()
    page.get_by_text("Better: 2, worse: 1, of 4 questions.").wait_for()
    assert compared(page) == ["before.json · default", "now.json · default"]
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key or token").fill(site.keys["admin"])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_label("Open runs").wait_for(state="attached")
    assert page.get_by_role("heading", name="What changed").count() == 0
    page.context.close()
    page = site.page("reader")
    page.goto(f"{site.url}#/evaluation")
    page.get_by_text("There is no such page").wait_for()
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_a_collection_keeps_its_last_runs_and_says_what_changed(site: Site) -> None:
    page = site.page("writer")
    name = f"aa-{uuid.uuid4().hex[:6]}"
    collection_with_runs(
        page, site, name, first=("WRONG", "RIGHT"), second=("RIGHT", "RIGHT"), third=("RIGHT", "FAILED")
    )
    page.goto(f"{site.url}#/evaluation")
    page.reload()  # the first collection is chosen without a click
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
    before, now = compared(page)
    assert "third" in before
    assert now == "now.json · default"
    # A run is deleted only after a confirmation, and then no longer compared.
    page.get_by_role("button", name="Delete the run").first.click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete the run").first.click()
    assert kept.count() == 3
    page.get_by_role("button", name="Really delete").click()
    kept.nth(2).wait_for(state="detached")
    assert "second" in kept.first.text_content()
    assert not [one for one in compared(page) if "third" in one]
    assert not page.faults
    page.context.close()


def test_runs_of_different_questions_are_not_compared(site: Site) -> None:
    page = site.page("writer")
    writer = {"x-api-key": site.keys["writer"]}
    name = f"ab {uuid.uuid4().hex[:6]}"
    collection_with_runs(page, site, name, first=("WRONG", "RIGHT"))
    questions = [{"id": "tea", "question": "How long is a password?", "grade": "EVALUATION_GRADE_RIGHT"}]
    run = {"label": "other", "filename": "it.jsonl", "questions": questions}
    answer = page.request.post(f"{site.url}v1/collections/{name}/evaluations", headers=writer, data={"run": run})
    assert answer.ok, answer.text()
    page.goto(f"{site.url}#/evaluation")
    page.reload()
    page.get_by_label("Collection").select_option(name)
    page.get_by_text("Better: 0, worse: 0, of 1 questions.").wait_for()
    command = shlex.split(page.locator("pre.query").text_content() or "")
    assert command[:-1] == ["footnote", "eval", "answers", "golden.jsonl", "--collection", name]
    before, now = compared(page)
    assert "other" in before
    assert before == now, "there is no earlier run of its questions"
    page.locator(".filters select").nth(1).select_option(index=1)
    page.get_by_text("Better: 0, worse: 0, of 0 questions.").wait_for()
    assert page.locator("s").count() == 0
    assert not page.faults
    page.context.close()


def test_runs_never_stand_under_the_name_of_another_collection(site: Site) -> None:
    page = site.page("writer")
    one, other = (f"{letter}-{uuid.uuid4().hex[:6]}" for letter in "yz")
    collection_with_runs(page, site, one, mine=("WRONG", "RIGHT"), last=("RIGHT", "RIGHT"))
    collection_with_runs(page, site, other, theirs=("RIGHT", "FAILED"))
    page.reload()
    page.goto(f"{site.url}#/evaluation")
    choose = page.get_by_label("Collection")
    choose.select_option(one)
    kept = page.locator(".kept-runs li")
    kept.nth(1).wait_for()
    # The list of the other cannot be read.
    page.route(f"**/v1/collections/{other}/evaluations", lambda route: route.abort())
    choose.select_option(other)
    page.locator(".failure").wait_for()
    assert kept.count() == 0
    assert page.get_by_role("heading", name="What changed").count() == 0
    page.unroute_all()
    # The other is chosen while a run is being deleted.
    choose.select_option(one)
    kept.nth(1).wait_for()
    held = []
    page.route(
        "**/v1/evaluations/*",
        lambda route: held.append(route) if route.request.method == "DELETE" else route.fallback(),
    )
    page.get_by_role("button", name="Delete the run").first.click()
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.get_by_role("button", name="Really delete").click()
    choose.select_option(other)
    kept.filter(has_text="theirs").wait_for()
    with page.expect_response(f"**/v1/collections/{other}/evaluations"):
        held.pop().continue_()
    kept.filter(has_text="theirs").wait_for()
    assert kept.count() == 1
    assert all("theirs" in name for name in compared(page))
    choose.select_option(one)
    kept.filter(has_text="mine").wait_for()
    assert kept.count() == 1
    assert not page.faults
    page.context.close()

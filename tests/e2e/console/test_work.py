"""Documents, collections, conversations and keys worked on by hand, in a real browser against real services."""

import uuid
from pathlib import Path

import pytest
from footnote_kit.settings import STAGES
from support.console import SAMPLES, WITHOUT_AXE, Site, ask, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


def new_collection(page: object, site: Site) -> str:
    """Make a collection by its form and return its name."""
    name = f"box-{uuid.uuid4().hex[:6]}"
    page.goto(f"{site.url}#/collections")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name=name, exact=True).wait_for()
    return name


def test_files_are_uploaded_watched_filtered_and_deleted(site: Site) -> None:
    page = site.page("writer")
    name = new_collection(page, site)
    page.goto(f"{site.url}#/documents/{name}")
    page.get_by_text("No documents here yet.").wait_for()
    good = [{"name": path.name, "mimeType": "", "buffer": path.read_bytes()} for path in sorted(SAMPLES.iterdir())[:3]]
    broken = {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\nnothing of a file"}
    page.locator("input[type=file]").set_input_files([*good, broken, {**good[0], "name": "twice.txt"}])
    page.locator(".state.good").nth(2).wait_for()
    page.get_by_text("Already here: the collection has a file with the same content.").wait_for()
    # An unreadable file shows its error and what to do; the same file is not offered again.
    problem = page.locator("li", has_text="broken.pdf").locator(".problem")
    problem.wait_for()
    assert "it was probably cut off. Open the file in the program that made it" in problem.text_content()
    assert page.locator("li", has_text="broken.pdf").get_by_role("button", name="Try again").count() == 0
    page.get_by_label("Filter by name").fill(good[0]["name"])
    assert page.locator("ul.list").last.locator("li").count() == 1
    page.get_by_role("button", name=f"Delete: {good[0]['name']}").click()
    page.get_by_role("button", name="Really delete").click()
    page.get_by_text("0 documents").wait_for()
    page.get_by_label("Filter by name").fill(good[1]["name"])
    page.get_by_role("button", name=good[1]["name"], exact=True).click()
    page.locator(".viewer").wait_for()
    assert not page.faults
    page.context.close()


def test_a_download_is_the_file(site: Site, handbook: str) -> None:
    page = site.page()
    page.goto(f"{site.url}#/documents/{handbook}")
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download: guide-lyon.md").click()
    assert waited.value.suggested_filename == "guide-lyon.md"
    assert Path(waited.value.path()).read_bytes() == (SAMPLES / "guide-lyon.md").read_bytes()
    page.context.close()


def test_a_collection_is_set_shared_and_deleted_by_its_name(site: Site) -> None:
    page = site.page("writer")
    name = new_collection(page, site)
    admin = {"x-api-key": site.keys["admin"]}
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_label("Description").fill("Plans <b>of</b> the board")
    page.get_by_label("Passages per question").fill("7")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for(state="attached")
    page.get_by_label("Name of the user or group").fill("ann")
    page.get_by_role("button", name="Share").click()
    page.get_by_text("User ann may read").wait_for()
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=admin).json()["collection"]
    assert kept["description"] == "Plans <b>of</b> the board"
    assert kept["settings"]["retrieval"]["limit"] == 7
    assert kept["grants"] == [{"user_id": "ann", "access": "ACCESS_READ"}]
    page.get_by_role("button", name="Remove: ann").click()
    page.get_by_text("User ann may read").wait_for(state="detached")
    delete = page.get_by_role("button", name="Delete the collection")
    typed = page.get_by_label("to delete it with its")
    typed.fill(name[:-1])
    assert delete.is_disabled()
    typed.fill(name)
    delete.click()
    page.get_by_role("heading", name="Collections").wait_for()
    assert page.request.get(f"{site.url}v1/collections/{name}", headers=admin).status == 404
    page.context.close()


def test_providers_are_set_by_their_schema_and_asked_whether_they_answer(site: Site) -> None:
    page = site.page()
    name = new_collection(page, site)
    admin = {"x-api-key": site.keys["admin"]}
    page.get_by_role("link", name=name, exact=True).click()
    assert "no limit" in page.locator(".quotas").text_content()
    page.get_by_label("Provider of re-scoring").select_option("lexical")
    page.get_by_label("Weight").fill("0.3")
    page.get_by_label("Documents it may hold").fill("5")
    page.get_by_role("button", name="Test connection: Words of the question, built in").click()
    page.get_by_text("Words of the question, built in answers, in").wait_for()
    # A provider that cannot be had says so in words, with what to do, before anything is saved.
    page.get_by_label("Provider of answers").select_option("anthropic")
    page.get_by_role("button", name="Test connection: Anthropic", exact=True).click()
    page.get_by_text("FOOTNOTE_ANTHROPIC_API_KEY").wait_for()
    page.get_by_label("Provider of answers").select_option("")
    page.get_by_role("button", name="Save").click()
    page.locator(".quotas").get_by_text("of 5").wait_for()
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=admin).json()["collection"]["settings"]
    assert kept["rerank"] == {"provider": "lexical", "settings": {"weight": 0.3}}
    assert kept["max_documents"] == 5
    assert not kept.get("generation")
    assert page.get_by_label("Weight").input_value() == "0.3"
    # Another provider inherits nothing of the one before.
    page.get_by_label("Provider of re-scoring").select_option("mmr")
    assert page.get_by_label("Balance").input_value() == ""
    with page.expect_response(lambda one: one.request.method == "PATCH"):
        page.get_by_role("button", name="Save").click()
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=admin).json()["collection"]["settings"]
    assert kept["rerank"] == {"provider": "mmr"}
    assert not page.faults
    page.context.close()


def test_a_collection_is_moved_to_another_embedder(site: Site) -> None:
    page = site.page("writer")
    name = new_collection(page, site)
    writer = {"x-api-key": site.keys["writer"]}
    page.goto(f"{site.url}#/documents/{name}")
    file = {"name": "guide.md", "mimeType": "", "buffer": (SAMPLES / "guide-lyon.md").read_bytes()}
    page.locator("input[type=file]").set_input_files([file])
    page.locator(".state.good").first.wait_for()
    page.goto(f"{site.url}#/collections/{name}")
    size = page.get_by_label("Numbers a vector")
    size.wait_for()
    # Only administrators may have a provider called.
    assert page.get_by_role("button", name="Test connection").count() == 0
    assert size.input_value() == "384"
    model = page.get_by_label("Model of vectors")
    own = model.input_value()
    model.fill("another")
    assert size.input_value() == "", "the length of the model before"
    model.fill(own)
    assert size.input_value() == "384"
    size.fill("128")
    page.get_by_role("button", name="Move and index again").click()
    page.get_by_text("Ended: 1 of 1 documents indexed again").wait_for()
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=writer).json()["collection"]
    assert kept["settings"]["embedding"]["dimensions"] == 128
    found = page.request.post(
        f"{site.url}v1/search", headers=writer, data={"query": "télétravailler à Lyon", "collections": [name]}
    )
    assert found.json()["chunks"], found.text()
    assert not page.faults
    page.context.close()


def test_conversations_are_found_renamed_opened_and_deleted(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "What is the internal emergency number?")
    page.get_by_role("link", name="Conversations").click()
    page.get_by_role("button", name="Rename").first.click()
    page.get_by_label("Title", exact=True).fill("Emergencies <i>here</i>")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Search titles and messages").fill("emergencies")
    found = page.get_by_role("link", name="Emergencies <i>here</i>")
    found.click()
    page.locator(".turn .actions").wait_for()
    page.get_by_role("link", name="Conversations").click()
    page.get_by_role("button", name="Delete: Emergencies <i>here</i>").click()
    page.get_by_role("button", name="Really delete").click()
    found.wait_for(state="detached")
    page.context.close()


def test_a_key_is_made_shown_once_used_and_revoked(site: Site) -> None:
    page = site.page()
    page.get_by_role("link", name="Keys").click()
    page.get_by_label("What it is for").fill("a reader's tablet")
    page.get_by_label("User (empty: you)").fill("rita")
    page.get_by_role("button", name="Make key").click()
    secret = page.locator(".secret code").text_content()
    headers = {"x-api-key": secret}
    who = page.request.get(f"{site.url}v1/whoami", headers=headers).json()
    assert (who["user_id"], who["role"]) == ("rita", "ROLE_READER")
    page.reload()
    page.get_by_text("a reader's tablet").wait_for()
    assert page.get_by_text(secret).count() == 0
    page.get_by_role("button", name="Revoke: a reader's tablet").click()
    page.get_by_role("button", name="Really revoke").click()
    page.get_by_text("a reader's tablet").wait_for(state="detached")
    assert page.request.get(f"{site.url}v1/whoami", headers=headers).status == 401
    page.context.close()
    page = site.page("writer")
    assert page.get_by_role("link", name="Keys").count() == 0
    page.context.close()


def test_the_overview_says_what_runs_and_what_there_is(site: Site, handbook: str) -> None:
    page = site.page()
    page.get_by_role("link", name="Overview").click()
    page.locator(".services li").nth(6).wait_for()
    for service in (*STAGES, "vector store"):
        assert page.locator(".services li", has_text=service).locator(".state.good").count() == 1, service
    assert page.get_by_label("searchable").count() == 1
    page.context.close()


def test_the_overview_draws_what_was_done_and_says_it_in_tables(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "What is the internal emergency number?")
    ask(page, "How much is the daily travel allowance abroad?")
    page.get_by_role("button", name="Helpful", exact=True).last.click()
    headers = {"x-api-key": site.keys["admin"]}
    found = page.request.get(f"{site.url}v1/activity?hours=24", headers=headers).json()["hours"]
    total = {name: sum(int(one[name]) for one in found) for name in ("searches", "claims_supported", "ratings_up")}
    assert total["searches"] >= 2
    assert total["claims_supported"] >= 1
    page.get_by_role("link", name="Overview").click()
    page.locator(".chart").first.wait_for()
    for name, column in (("Searches", "searches"), ("Verdicts", "claims_supported")):
        cells = page.get_by_role("table", name=name, exact=True).locator("tbody tr td:nth-child(2)").all_text_contents()
        assert sum(int(cell.replace(",", "")) for cell in cells) == total[column], name
        assert page.locator(".chart", has_text=name).locator("rect.good").count() == len(
            [one for one in cells if one != "0"]
        )
    assert "ms" in page.locator(".chart", has_text="Time of a search").locator(".top").text_content()
    page.get_by_text("Nothing that has a price was used.").wait_for()
    page.get_by_text("No document waits.").wait_for()
    page.get_by_label("Period").select_option("744")
    page.locator(".chart").first.locator("svg g").nth(30).wait_for(state="attached")
    assert not page.faults
    page.context.close()
    page = site.page("writer")
    page.get_by_role("link", name="Overview").click()
    page.locator(".services li").nth(6).wait_for()
    assert page.locator(".chart").count() == 0
    assert page.locator(".failure").count() == 0
    page.context.close()


@WITHOUT_AXE
@pytest.mark.parametrize("width", [1280, 390])
def test_no_view_has_a_serious_barrier_or_is_cut_off(site: Site, handbook: str, width: int) -> None:
    page = site.page(viewport={"width": width, "height": 800})
    for path in (
        f"documents/{handbook}",
        "collections",
        f"collections/{handbook}",
        "conversations",
        "sources",
        "evaluation",
        "overview",
        "keys",
        "audit",
    ):
        page.goto(f"{site.url}#/{path}")
        page.wait_for_selector("h1")
        page.wait_for_timeout(500)
        barriers(page, path)
        assert page.evaluate("document.getElementById('content').scrollWidth <= innerWidth"), path
    page.context.close()

"""Files uploaded by hand: small ones many in a call, each with its own end, and advice as the command line gives it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from footnote_cli.errors import explain_failure, sentence
from footnote_kit.errors import ResourceExhausted
from support.base_environment import inherited
from support.console import WITHOUT_AXE, Page, Site, barriers

from .test_administering import made
from .test_answers import aside

pytestmark = [pytest.mark.full, pytest.mark.slow]

PROGRAM = b"MZ\x90\x00" + bytes(900)


def note(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def opened(page: Page, site: Site) -> tuple[str, list[str]]:
    """Open a new collection; return its name, and the list of uploads that the page begins from now on."""
    name = made(page, site)
    uploads: list[str] = []
    page.on(
        "request",
        lambda one: (
            uploads.append(one.url.removeprefix(site.url))
            if one.method == "POST" and "v1/documents" in one.url
            else None
        ),
    )
    page.goto(f"{site.url}#/documents/{name}")
    page.get_by_text("No documents here yet.").wait_for()
    return name, uploads


def choose(page: Page, files: list[dict[str, Any]]) -> None:
    page.locator("input[type=file][aria-label='Choose files']").set_input_files(files)


@WITHOUT_AXE
def test_small_files_go_many_in_a_call_and_a_bad_one_fails_alone(site: Site) -> None:
    page = site.page("writer")
    _, uploads = opened(page, site)
    files = [note(f"note-{number:03}.txt", f"Note {number} of the club.") for number in range(148)]
    files.insert(70, {"name": "setup.exe", "mimeType": "", "buffer": PROGRAM})
    files.insert(8, note("twice.txt", "Note 7 of the club."))
    assert len(files) == 150
    choose(page, files)
    page.locator(".filters").get_by_text("148 documents").wait_for()
    left = page.locator(".sendings > li")
    page.locator(".sendings > li:nth-child(2):last-child").wait_for()
    assert sorted(left.locator(".item-name").all_text_contents()) == ["setup.exe", "twice.txt"]
    refused = left.filter(has_text="setup.exe")
    assert "Convert it to a format that is read" in refused.locator(".problem").text_content()
    assert refused.get_by_role("button", name="Try again").count() == 0
    assert "Already here" in left.filter(has_text="twice.txt").text_content()
    assert uploads == ["v1/documents:upload"] * 3, "64 files at most in a call"
    barriers(page, "uploads that ended")
    for _ in range(2):
        left.first.get_by_role("button", name="Close").click()
    page.locator(".sendings").wait_for(state="detached")
    assert not page.faults
    page.context.close()


def test_a_call_has_no_more_bytes_than_the_server_takes(site: Site) -> None:
    page = site.page("writer")
    _, uploads = opened(page, site)
    # Files that are refused one by one; a call over its limit would be refused as a whole.
    files = [{"name": f"{n}.exe", "mimeType": "", "buffer": PROGRAM.ljust(256 * 1024, b"\0")} for n in range(17)]
    choose(page, [*files, {"name": "large.exe", "mimeType": "", "buffer": PROGRAM.ljust(256 * 1024 + 1, b"\0")}])
    problems = page.locator(".sendings .problem")
    problems.nth(17).wait_for()
    assert all("Convert it to a format" in one for one in problems.all_text_contents())
    assert sorted(uploads) == ["v1/documents", "v1/documents:upload", "v1/documents:upload"]
    assert not page.faults
    page.context.close()


def test_each_file_of_a_call_says_how_far_it_is(site: Site) -> None:
    page = site.page("writer")
    opened(page, site)
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 300_000}
    network.send("Network.emulateNetworkConditions", slow)
    choose(page, [note(f"{number}.txt", f"{number} " * 50_000) for number in range(10)])
    page.wait_for_function(
        """() => {
          const parts = [...document.querySelectorAll('.sendings progress')].map((one) => one.value);
          return parts.length === 10 && parts[0] === 1 && parts[9] === 0;
        }"""
    )
    network.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    page.locator(".filters").get_by_text("10 documents").wait_for()
    assert not page.faults
    page.context.close()


def test_a_call_that_fails_fails_its_files_and_each_is_tried_again(site: Site) -> None:
    page = site.page("writer")
    _, uploads = opened(page, site)
    page.route("**/v1/documents:upload", lambda route: route.abort())
    choose(page, [note(f"{number}.txt", f"Text {number}.") for number in range(3)])
    again = page.locator(".sendings").get_by_role("button", name="Try again")
    again.nth(2).wait_for()
    assert page.locator(".sendings").get_by_text("The server cannot be reached").count() == 3
    page.unroute("**/v1/documents:upload")
    for _ in range(3):
        again.first.click()
    page.locator(".filters").get_by_text("3 documents").wait_for()
    page.locator(".sendings").wait_for(state="detached")
    # A proxy that takes less than the server: the files go one by one.
    uploads.clear()
    page.route("**/v1/documents:upload", lambda route: route.fulfill(status=413, body="too large"))
    choose(page, [note(f"more-{number}.txt", f"More text {number}.") for number in range(3)])
    page.locator(".filters").get_by_text("6 documents").wait_for()
    assert sorted(uploads) == ["v1/documents"] * 3 + ["v1/documents:upload"]
    assert not page.faults
    page.context.close()


DROP = """element => {
  const file = (name) => ({name, isFile: true, file: (resolve) => resolve(new File([`A text of ${name}.`], name))});
  const unread = {name: "cloud.md", isFile: true, file: (_, reject) => reject(new DOMException("", "NotReadable"))};
  const folder = (name, entries) => ({name, isFile: false, createReader: () => {
    const parts = [entries, []];
    return {readEntries: (resolve) => resolve(parts.shift())};
  }});
  const hidden = [file(".env"), folder(".git", [file("config")])];
  const dropped = folder("notes", [...hidden, unread, file("a.md"), folder("more", [file("b.md")])]);
  const event = new Event("drop", {bubbles: true, cancelable: true});
  event.dataTransfer = {items: [{webkitGetAsEntry: () => dropped}]};
  element.dispatchEvent(event);
}"""


def test_a_dropped_folder_brings_nothing_hidden_and_all_that_can_be_read(site: Site) -> None:
    page = site.page("writer")
    opened(page, site)
    page.locator(".drop").evaluate(DROP)
    page.locator(".filters").get_by_text("2 documents").wait_for()
    assert page.locator(".told [dir]").text_content().strip("\u2068\u2069") == "cloud.md could not be read"
    page.locator(".sendings").wait_for(state="detached")
    assert page.get_by_text("a.md").count()
    assert page.get_by_text("b.md").count()
    assert not page.faults
    page.context.close()


def test_a_large_folder_shows_a_few_of_those_that_wait(site: Site) -> None:
    page = site.page("writer")
    opened(page, site)
    held: list[Any] = []
    page.route("**/v1/documents:upload", lambda route: held.append(route))
    choose(page, [note(f"{number}.txt", f"Leaf {number}.") for number in range(3 * 64 + 30)])
    waiting = page.locator(".sendings").get_by_text("Waiting its turn")
    waiting.nth(10).wait_for()
    assert waiting.count() == 11
    assert page.locator(".sendings > li").last.locator(".item-name").text_content() == "+ 20 documents"
    page.context.close()


def test_advice_is_what_the_command_line_gives(site: Site, tmp_path: Path) -> None:
    page = site.page("admin")
    name, _ = opened(page, site)
    blank = io.BytesIO()
    Document().save(blank)
    bad = {
        "empty.txt": b"",
        "cut.pdf": b"%PDF-1.7\nnothing of a file",
        "setup.exe": PROGRAM,
        "blank.docx": blank.getvalue(),
    }
    for filename, data in bad.items():
        (tmp_path / filename).write_bytes(data)
    other = made(page, site)
    own = {
        "PYTHONPATH": os.pathsep.join(sys.path), "FOOTNOTE_EDGE_ADDRESS": site.running.address(),
        "FOOTNOTE_API_KEY": site.keys["admin"],
    }  # fmt: skip
    command = [sys.executable, "-m", "footnote_cli.main", "ingest", str(tmp_path), "--collection", other, "--json"]
    ran = aside(
        lambda: subprocess.run(
            command, env={**inherited(), **own}, capture_output=True, text=True, timeout=120, check=False
        )
    )
    told = {
        Path(one["path"]).name: f"{sentence(one['error']['message'])} {one['error']['hint']}"
        for one in json.loads(ran.stdout)["documents"]
    }
    assert told.keys() == bad.keys(), ran.stderr
    choose(page, [{"name": one, "mimeType": "", "buffer": data} for one, data in bad.items()])
    page.locator(".problem").nth(len(bad) - 1).wait_for()
    for filename, words in told.items():
        assert page.locator("li", has_text=filename).locator(".problem").text_content() == words
    # So does every view: what failed, and what to do.
    full = ResourceExhausted("Too many requests", reason="RATE_LIMITED", retry_after=7)
    body = {"status": 429, "reason": full.reason, "detail": full.message, "metadata": {"hint": "Send fewer."}}
    page.route("**/v1/sources?*", lambda route: route.fulfill(status=429, headers={"retry-after": "7"}, json=body))
    page.goto(f"{site.url}#/sources")
    failure = page.locator(".failure p")
    failure.wait_for()
    assert failure.text_content() == str(explain_failure(full)) == "Too many requests. Try again in 7 s."
    page.unroute("**/v1/sources?*")
    page.route("**/v1/sources?*", lambda route: route.fulfill(status=400, json=body))
    page.locator(".failure").get_by_role("button").click()
    failure.get_by_text("Too many requests. Send fewer.").wait_for()
    assert name
    assert not page.faults
    page.context.close()

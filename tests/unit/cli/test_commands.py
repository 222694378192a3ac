import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.edge.v1.system_pb2 import GetHealthRequest
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.collection_pb2 import (
    ACCESS_READ,
    ACCESS_WRITE,
    VISIBILITY_PRIVATE,
    VISIBILITY_SHARED,
    Collection,
    Grant,
)
from footnote_cli.console import SafeConsole
from footnote_cli.errors import explain
from footnote_cli.folder import locked, publish, withdraw
from footnote_cli.launcher import _announcement
from footnote_cli.session import open_channel
from footnote_kit.edge import EdgeStub
from support.doubles.scripted_edge import ANSWER, QUOTE, ScriptedEdge
from typer.testing import Result

Footnote = Callable[..., Result]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_ask_prints_the_answer_and_its_footnotes(footnote: Footnote) -> None:
    result = footnote("ask", "How many days of leave?")
    assert result.exit_code == 0
    printed = lines(result.stdout)
    assert printed[:3] == [
        "Every employee has 27 days of paid leave a year. [1] Some have more. [2]",
        "[1] handbook.pdf, page 3 — “Every employee has 27 days of paid leave a year.” (supported)",
        "[2] stock.xlsx, sheet 'Stocks', cell C12 — “Some” (not confirmed)",
    ]
    assert "first word after 12 ms · builtin/extractive · 2 of 2 sources cited" in printed[3]


def test_ask_sends_what_was_chosen(footnote: Footnote, edge: ScriptedEdge) -> None:
    footnote(
        "ask", "q", "-c", "a", "-c", "b", "--provider", "openai", "--model", "m", "--limit", "7", "--conversation", "k"
    )
    (request,) = edge.requests
    assert list(request.collections) == ["a", "b"]
    assert (request.generation.provider, request.generation.model) == ("openai", "m")
    assert request.retrieval.limit == 7
    assert request.conversation_id == "k"


def test_ask_json_is_one_document_in_snake_case(footnote: Footnote) -> None:
    result = footnote("ask", "q", "--json")
    completed = json.loads(result.stdout)
    assert completed["answer"]["citations"][0]["label"] == "handbook.pdf, page 3"
    assert "trace_id" in completed


def test_ask_trace_draws_the_commands_own_span_above_the_edges(footnote: Footnote) -> None:
    printed = lines(footnote("ask", "q", "--trace").stdout)
    start = next(index for index, line in enumerate(printed) if line.startswith("Trace "))
    assert "2 spans in 2 services" in printed[start]
    assert printed[start + 1].startswith("cli  footnote ask")
    assert printed[start + 2].startswith("edge └ AnswersService/Ask")


def test_what_did_not_work_is_a_notice_under_the_answer(footnote: Footnote, edge: ScriptedEdge) -> None:
    edge.degradations.append(
        Degradation(
            stage="PIPELINE_STAGE_RETRIEVAL",
            reason="DEGRADATION_REASON_EMBEDDING_UNAVAILABLE",
            effect="Full text only.",
        )
    )
    assert "! Full text only. (retrieval, EMBEDDING_UNAVAILABLE)" in footnote("ask", "q").stdout


def test_a_final_text_that_differs_from_the_stream_is_shown(footnote: Footnote, edge: ScriptedEdge) -> None:
    edge.final_text = "Every employee has 27 days. [1]"
    printed = lines(footnote("ask", "q").stdout)
    assert printed[1:3] == ["The answer was revised after its sources were checked:", "Every employee has 27 days. [1]"]


def test_a_failure_in_the_middle_is_one_sentence_and_exit_code_1(footnote: Footnote) -> None:
    result = footnote("ask", "boom")
    assert result.exit_code == 1
    assert result.stderr.strip() == (
        "The model provider failed: 503. Check its key and address where `footnote serve` runs, "
        "or choose another: footnote providers"
    )


def test_an_empty_question_is_a_wrong_call(footnote: Footnote, edge: ScriptedEdge) -> None:
    result = footnote("ask", "  ")
    assert result.exit_code == 2
    assert result.stderr.startswith("The question is empty.")
    assert edge.requests == []


def test_identity_goes_along(footnote: Footnote, edge: ScriptedEdge) -> None:
    footnote("health", "--tenant", "acme", "--user", "ann", "--api-key", "secret")
    metadata = edge.metadata[0]
    assert metadata["x-footnote-tenant"] == "acme"
    assert metadata["x-footnote-user"] == "ann"
    assert metadata["authorization"] == "Bearer secret"
    assert metadata["traceparent"].startswith("00-")


def test_nobody_there_is_a_sentence_with_what_to_do(footnote: Footnote) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result = footnote("health", "--address", f"127.0.0.1:{port}")
    assert result.exit_code == 1
    assert result.stderr.strip() == f"No server at 127.0.0.1:{port}. Start one with: footnote serve all"


def test_a_server_that_is_still_starting_is_said_to_be(
    footnote: Footnote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_DATA_DIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = f"127.0.0.1:{port}"
    with locked(tmp_path, ["edge"]):
        told = footnote("health", "--address", address).stderr.strip()
        assert told == "The server is still starting. Repeat the command in a few seconds."
        publish(tmp_path, {"edge": "127.0.0.1:7100"})
        assert "No server at" in footnote("health", "--address", address).stderr
        withdraw(tmp_path, {"edge": "127.0.0.1:7100"})
    # A lock whose holder has died is no server.
    (tmp_path / "locks" / "edge.lock").write_text("999999999 1")
    assert "No server at" in footnote("health", "--address", address).stderr


def test_errors_are_json_where_json_was_asked_for(footnote: Footnote) -> None:
    result = footnote("collections", "get", "nope", "--json")
    assert result.exit_code == 3
    error = json.loads(result.stderr)["error"]
    assert error["reason"] == "COLLECTION_NOT_FOUND"
    assert error["message"] == "Collection 'nope' not found"


def test_ingest_uploads_follows_and_lists_failures(footnote: Footnote, edge: ScriptedEdge, tmp_path: Path) -> None:
    for name in ("good.txt", "bad.pdf", "refused.txt"):
        (tmp_path / name).write_text(name * 100_000)
    result = footnote("ingest", str(tmp_path), "--collection", "new", "--tag", "t", "--meta", "year=2026")
    assert result.exit_code == 1
    assert edge.uploads["good.txt"] == b"good.txt" * 100_000
    sent = next(item for item in edge.requests if getattr(item, "filename", "") == "good.txt")
    assert (sent.collection, list(sent.tags), dict(sent.metadata)) == ("new", ["t"], {"year": 2026})
    assert "Created collection 'new'." in result.stderr
    assert "✓ good.txt  3 chunks" in result.stderr
    assert "The file needs a password" in result.stdout
    assert "Save it without one." in result.stdout
    assert "The file is empty" in result.stdout
    assert "Check that it was saved." in result.stdout
    assert lines(result.stdout)[-1].endswith("1 new with 3 chunks, 2 failed.")


def test_ingest_json_says_everything_once(footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("x")
    (tmp_path / "bad.txt").write_text("y")
    result = footnote("ingest", str(tmp_path), "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["total"], report["failed"]) == (2, 1)
    bad, good = report["documents"]
    assert bad["error"] == {
        "reason": "PASSWORD_PROTECTED", "message": "The file needs a password", "hint": "Save it without one.",
    }  # fmt: skip
    assert good["document"]["state"] == "DOCUMENT_STATE_INDEXED"


@pytest.mark.parametrize("allowed", [32, 3, 0])
@pytest.mark.slow
def test_ingest_of_a_large_folder_needs_no_more_watches_than_it_may_have(
    footnote: Footnote, edge: ScriptedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    monkeypatch.setattr("footnote_cli.ingestion._LOOK_AGAIN", 0.01)
    edge.watches_allowed = allowed
    for number in range(70):
        (tmp_path / f"{number}.txt").write_text(str(number))
    result = footnote("ingest", str(tmp_path), "--jobs", "32", "--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["total"], report["failed"]) == (0, 70, 0), report["documents"][-1]
    assert edge.most_watches <= 16


def test_ingest_of_nothing_is_a_wrong_call(footnote: Footnote, tmp_path: Path) -> None:
    assert footnote("ingest", str(tmp_path / "absent")).exit_code == 2
    assert footnote("ingest", str(tmp_path)).exit_code == 2
    assert footnote("ingest").exit_code == 2


def test_search_shows_place_and_passage_and_explains(footnote: Footnote, edge: ScriptedEdge) -> None:
    result = footnote("search", "leave", "--strategy", "hybrid", "--explain")
    assert result.exit_code == 0
    assert QUOTE in result.stdout
    assert "recency: 2.0 days old" in result.stdout
    assert "hybrid (quoted terms) · language en · 12 candidates" in result.stdout
    assert edge.requests[0].settings.strategy == 4
    assert footnote("search", "leave", "--strategy", "guess").exit_code == 2


def test_collections_are_listed_over_all_pages(footnote: Footnote) -> None:
    assert footnote("collections", "create", "handbook", "--set", "chunking.size=800").exit_code == 0
    result = footnote("collections", "list", "--json")
    assert [item["name"] for item in json.loads(result.stdout)["collections"]] == ["default", "handbook"]


def test_update_masks_what_was_given_and_nothing_else(footnote: Footnote, edge: ScriptedEdge) -> None:
    footnote("collections", "update", "default", "--description", "", "--set", "chunking.size=800", "--ttl", "24h")
    (request,) = edge.requests
    assert list(request.update_mask.paths) == ["description", "settings.ttl", "settings.chunking.size"]
    assert request.resource.settings.chunking.size == 800
    assert request.resource.name == ""
    assert footnote("collections", "update", "default").exit_code == 2
    assert footnote("collections", "update", "default", "--set", "chunking.colour=red").exit_code == 2


def test_a_collection_is_renamed(footnote: Footnote, edge: ScriptedEdge) -> None:
    result = footnote("collections", "rename", "default", "handbook")
    assert result.exit_code == 0
    assert "handbook" in result.stdout
    (request,) = edge.requests
    assert (request.collection, request.resource.name) == ("default", "handbook")
    assert list(request.update_mask.paths) == ["name"]


def test_collections_are_shared_and_unshared(
    footnote: Footnote, edge: ScriptedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    kept = Grant(group="lab", access=ACCESS_READ)
    edge.collections["default"].MergeFrom(
        Collection(visibility=VISIBILITY_PRIVATE, owner_id="ann", etag="7", grants=[Grant(user_id="bob"), kept])
    )
    shared = footnote("collections", "share", "default", "--with", "bob", "--group", "hr", "--group", "hr", "--write")
    said = [line.split() for line in lines(shared.stdout)]
    assert ["user", "bob", "read", "and", "write"] in said
    assert ["group", "lab", "read"] in said
    (request,) = [one for one in edge.requests if hasattr(one, "update_mask")]
    assert list(request.update_mask.paths) == ["grants"]
    assert (request.collection, request.resource.etag) == ("c1", "7")
    added = [Grant(user_id="bob", access=ACCESS_WRITE), Grant(group="hr", access=ACCESS_WRITE)]
    assert list(request.resource.grants) == [kept, *added]
    edge.requests.clear()
    assert footnote("collections", "unshare", "default", "--with", "bob").exit_code == 0
    assert list(edge.requests[-1].resource.grants) == [kept]
    assert footnote("collections", "share", "default").exit_code == 2
    listed = footnote("collections", "list").stdout
    assert "private" in listed
    assert "ann" in listed


def test_visibility_is_changed_and_opening_ends_sharing(footnote: Footnote, edge: ScriptedEdge) -> None:
    for arguments, visibility, paths in (
        (("--visibility", "shared"), VISIBILITY_SHARED, ["visibility", "grants"]),
        (("--shared",), VISIBILITY_SHARED, ["visibility", "grants"]),
        (("--visibility", "private"), VISIBILITY_PRIVATE, ["visibility"]),
    ):
        edge.requests.clear()
        assert footnote("collections", "update", "default", *arguments).exit_code == 0
        assert edge.requests[-1].resource.visibility == visibility
        assert list(edge.requests[-1].update_mask.paths) == paths
    assert footnote("collections", "update", "default", "--visibility", "secret").exit_code == 2
    assert footnote("collections", "update", "default", "--shared", "--visibility", "private").exit_code == 2
    assert footnote("collections", "create", "mine", "--private").exit_code == 0
    assert edge.requests[-1].collection.visibility == VISIBILITY_PRIVATE


def test_deleting_needs_a_yes_where_nobody_can_be_asked(footnote: Footnote, edge: ScriptedEdge) -> None:
    assert footnote("collections", "delete", "default").exit_code == 2
    assert footnote("documents", "delete", "d" * 32).exit_code == 2
    assert edge.requests == []
    assert "2 documents deleted, 6 chunks" in footnote("collections", "delete", "default", "--yes").stdout


def test_documents_are_a_table(footnote: Footnote) -> None:
    printed = lines(footnote("documents", "list").stdout)
    assert printed[0].split() == ["File", "Collection", "State", "Chunks", "Size", "Id"]
    assert printed[2].split() == ["handbook.pdf", "default", "indexed", "3", "2.0", "KiB", "doc-handbook"]
    assert footnote("documents", "list", "--state", "lost").exit_code == 2


def test_filters_and_order_of_a_list_are_sent(footnote: Footnote, edge: ScriptedEdge) -> None:
    words = [
        "--tag",
        "a",
        "--tag",
        "b",
        "--type",
        "pdf",
        "--language",
        "en",
        "--since",
        "2026-01-01T00:00Z",
        "--before",
        "2026-02-01T01:00+01:00",
    ]
    assert footnote("documents", "list", *words, "--order", "size_bytes desc").exit_code == 0
    sent = edge.requests[0]
    assert (list(sent.tags), list(sent.document_types), list(sent.languages)) == (["a", "b"], ["pdf"], ["en"])
    assert sent.created_after.ToJsonString() == "2026-01-01T00:00:00Z"
    assert sent.created_before.ToJsonString() == "2026-02-01T00:00:00Z"
    assert sent.order_by == "size_bytes desc"
    assert footnote("documents", "list", "--since", "7d").exit_code == 0
    assert footnote("documents", "list", "--since", "yesterday").exit_code == 2


def test_a_cancelled_document_is_shown_with_what_to_do(footnote: Footnote, edge: ScriptedEdge) -> None:
    result = footnote("documents", "cancel", "doc-handbook")
    assert result.exit_code == 0
    assert "Reindex it." in result.stdout
    assert edge.requests[-1].document_id == "doc-handbook"


def test_a_download_keeps_to_its_folder_and_does_not_overwrite(footnote: Footnote, tmp_path: Path) -> None:
    assert footnote("documents", "download", "doc-handbook").exit_code == 0
    assert (tmp_path / "handbook.pdf").read_bytes() == b"first second"
    assert footnote("documents", "download", "doc-handbook").exit_code == 2
    assert footnote("documents", "download", "doc-handbook", "--force").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["handbook.pdf"]


def test_watching_ends_with_the_document_and_its_state(footnote: Footnote) -> None:
    result = footnote("documents", "watch", "doc-bad")
    assert result.exit_code == 1
    assert [line.split("  ")[1] for line in lines(result.stdout)] == ["processing", "processing", "error"]
    assert footnote("documents", "watch").exit_code == 2


def test_reindex_waits_and_says_what_it_left_out(footnote: Footnote) -> None:
    result = footnote("documents", "reindex", "-c", "default")
    assert result.exit_code == 0
    assert result.stdout.strip() == "Succeeded: 2 documents indexed again, 1 left out"
    assert footnote("documents", "reindex").exit_code == 2


def test_long_work_need_not_be_waited_for(footnote: Footnote, edge: ScriptedEdge) -> None:
    for command in (("documents", "reindex", "-c", "default"), ("collections", "delete", "default", "--yes")):
        told = footnote(*command, "--no-wait")
        assert told.exit_code == 0
        assert lines(told.stdout)[0].startswith("Queued: 0 documents")
        assert "footnote operations watch op-" in told.stdout
        assert not any(type(one).__name__ == "WatchOperationRequest" for one in edge.requests)
        begun = json.loads(footnote(*command, "--no-wait", "--json").stdout)
        assert begun["state"] == "OPERATION_STATE_QUEUED"
        done = json.loads(footnote(*command, "--json").stdout)
        assert done["state"] == "OPERATION_STATE_SUCCEEDED"
        edge.requests.clear()


def test_an_upload_that_is_not_waited_for_says_nothing_of_chunks(footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("x" * 300_000)  # a call of its own
    assert lines(footnote("ingest", "large.txt", "--no-wait").stdout)[-1].endswith(", 1 new.")


def test_operations_are_listed_shown_watched_and_cancelled(footnote: Footnote, edge: ScriptedEdge) -> None:
    listed = footnote("operations", "list", "--state", "running", "--kind", "reindex_documents", "-c", "default")
    assert lines(listed.stdout)[2].split()[:5] == ["reindex_documents", "running", "1", "of", "4"]
    assert [list(edge.requests[-1].kinds), list(edge.requests[-1].states)] == [[1], [2]]
    assert footnote("operations", "list", "--state", "lost").exit_code == 2
    assert json.loads(footnote("operations", "list", "--json").stdout)["operations"][0]["total"] == 4
    assert "running: 1 document indexed again, of 4" in footnote("operations", "show", "op-REINDEX_DOCUMENTS").stdout
    missing = footnote("operations", "show", "absent")
    assert missing.exit_code == 3
    assert "footnote operations list" in missing.output
    told = footnote("operations", "watch", "op-REINDEX_DOCUMENTS", "--json")
    assert [json.loads(line)["state"] for line in told.stdout.splitlines()] == [
        "OPERATION_STATE_RUNNING", "OPERATION_STATE_SUCCEEDED",
    ]  # fmt: skip
    assert footnote("operations", "watch", "op-REINDEX_DOCUMENTS").stdout.startswith("Succeeded: 2 documents")
    assert "cancelled" in footnote("operations", "cancel", "op-REINDEX_DOCUMENTS").stdout


def test_a_conversation_is_shown_with_its_footnotes(footnote: Footnote, edge: ScriptedEdge) -> None:
    assert lines(footnote("conversations", "list").stdout)[2].split() == ["Leave", "2", "k1"]
    assert lines(footnote("conversations", "show", "k1").stdout) == [
        "Leave",
        "> How many days?",
        "Every employee has 27 days of paid leave a year. [1] Some have more. [2]",
        "[1] handbook.pdf, page 3 — “Every employee has 27 days of paid leave a year.” (supported)",
    ]
    edge.requests.clear()
    assert footnote("conversations", "delete", "k1").exit_code == 2
    assert edge.requests == []
    assert footnote("conversations", "delete", "k1", "--yes").exit_code == 0


def test_a_conversation_or_an_answer_is_shared_and_read(footnote: Footnote, edge: ScriptedEdge) -> None:
    assert "footnote conversations shared s1" in footnote("conversations", "share", "k1", "--answer", "m2").stdout
    assert footnote("conversations", "unshare", "k1", "--answer", "m2").exit_code == 0
    assert [(one.conversation_id, one.answer_id) for one in edge.requests] == [("k1", "m2")] * 2
    printed = lines(footnote("conversations", "shared", "s1").stdout)
    assert printed[0] == "Leave"
    assert printed[1].startswith("Shared by ann on 2026-11-20")
    assert printed[2:4] == ["> How many days?", f"{ANSWER}"]
    whole = json.loads(footnote("conversations", "shared", "s1", "--json").stdout)
    assert (whole["shared"]["user_id"], len(whole["messages"])) == ("ann", 2)


def test_health_and_providers(footnote: Footnote, address: str) -> None:
    assert f"Everything is healthy: {address}, version 0.1.0." in footnote("health").stdout
    assert "embedding" in footnote("providers").stdout
    assert footnote("providers", "--kind", "oracle").exit_code == 2


def test_a_trace_id_has_32_digits(footnote: Footnote) -> None:
    assert footnote("trace", "xyz").exit_code == 2
    result = footnote("trace", "0" * 32)
    assert result.exit_code == 3
    assert "no longer kept" in result.stderr


def test_unknown_options_are_a_wrong_call(footnote: Footnote) -> None:
    assert footnote("ask", "q", "--colour").exit_code == 2
    assert footnote("frobnicate").exit_code == 2


@pytest.mark.slow
def test_ctrl_c_ends_quietly_and_cancels_the_call(edge: ScriptedEdge, address: str) -> None:
    command = [sys.executable, "-m", "footnote_cli.main", "ask", "slow", "--address", address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    with process:
        assert process.stdout is not None
        try:
            # What streams is flushed into a pipe too, as it comes.
            assert process.stdout.read(26) == "Every employee has 27 days"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.strip() == "Interrupted."
    assert edge.cancelled.wait(5)


@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"], ["serve", "--help"], ["documents", "--help"]])
def test_help_is_there(footnote: Footnote, arguments: list[str]) -> None:
    result = footnote(*arguments)
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


async def test_where_the_connection_fails_is_told_apart() -> None:
    """A name that is no host, a server of another kind, and a plain server asked for TLS are not `no server`."""

    async def http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def failure(address: str) -> str:
        async with open_channel(address) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await EdgeStub(channel).GetHealth(GetHealthRequest(), timeout=60)
        return str(explain(caught.value, address))

    async with await asyncio.start_server(http, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert "does not speak gRPC" in await failure(f"127.0.0.1:{port}")
        assert "No secure connection" in await failure(f"https://127.0.0.1:{port}")
    assert "There is no host nowhere.invalid:1" in await failure("nowhere.invalid:1")


@pytest.mark.slow
def test_the_servers_libraries_are_loaded_on_demand_only() -> None:
    code = "import sys; from footnote_cli.main import app; sys.exit('footnote_kit.server' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert result.returncode == 0


def test_commands_loaded_on_demand_have_their_help(footnote: Footnote) -> None:
    assert "Measure retrieval" in footnote("--help").stdout
    assert "nDCG" in footnote("eval", "--help").stdout
    assert footnote("evil").exit_code == 2


def test_where_it_listens_is_a_list_for_people_and_a_line_for_programs() -> None:
    addresses = {"edge": "127.0.0.1:7100", "http": "127.0.0.1:7180"}
    assert _announcement("ready", addresses, Path("/data"), for_people=False) == (
        "footnote is ready: edge 127.0.0.1:7100  http 127.0.0.1:7180  (data: /data; Ctrl-C stops)"
    )
    assert _announcement("ready", addresses, Path("/data"), for_people=True).splitlines() == [
        "footnote is ready; Ctrl-C stops it.",
        "  edge          127.0.0.1:7100",
        "  http          http://127.0.0.1:7180/ (in a browser: the console)",
        "  data          /data",
    ]


def test_ingest_says_which_links_it_left_out(footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("text")
    (tmp_path / "docs" / "b.txt").symlink_to("/etc/hostname")
    plain = footnote("ingest", "docs")
    assert plain.exit_code == 0
    assert "Left out 1 symbolic link: docs/b.txt. Take what they lead to with --follow-symlinks." in plain.stderr
    result = json.loads(footnote("ingest", "docs", "--json").stdout)
    assert result["skipped"] == [{"path": "docs/b.txt", "reason": "SYMLINK"}]
    assert result["total"] == 1
    assert footnote("ingest", "docs/b.txt").exit_code == 2
    assert json.loads(footnote("ingest", "docs", "--follow-symlinks", "--json").stdout)["total"] == 2


def test_ingest_says_which_folders_it_cannot_read(
    footnote: Footnote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docs/a.txt", "docs/sub/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    scandir = os.scandir

    def failing(path: Any) -> Any:  # also to root
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    plain = footnote("ingest", "docs")
    assert plain.exit_code == 1
    assert "Cannot read 1 folder or link: docs/sub." in plain.stderr
    assert "1 document" in plain.stdout
    assert json.loads(footnote("ingest", "docs", "--json").stdout)["skipped"] == [
        {"path": "docs/sub", "reason": "UNREADABLE"}
    ]
    assert footnote("ingest", "docs/sub").exit_code == 2


def test_ask_quiet_prints_the_answer_and_its_footnotes_alone(footnote: Footnote, edge: ScriptedEdge) -> None:
    whole = lines(footnote("ask", "q").stdout)
    assert lines(footnote("ask", "q", "--quiet").stdout) == whole[:3]
    assert len(whole) > 3


def test_ask_reads_the_question_from_standard_input(
    footnote: Footnote, edge: ScriptedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnote_cli.commands.ask.read_question", lambda source: "How many days\nof leave?")
    assert footnote("ask", "-").exit_code == 0
    assert edge.requests[0].question == "How many days\nof leave?"


@pytest.mark.full
def test_a_pipe_whose_reader_is_gone_ends_the_command_well(address: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "footnote_cli.main", "ask", "q", "--address", address]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.full
def test_the_question_comes_through_a_real_pipe(address: str, edge: ScriptedEdge) -> None:
    command = [sys.executable, "-m", "footnote_cli.main", "ask", "-", "--quiet", "--address", address]
    done = subprocess.run(command, input="How many days\nof leave?\n", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert edge.requests[0].question.split() == ["How", "many", "days", "of", "leave?"]


def test_a_reader_that_goes_is_no_failure() -> None:
    with pytest.raises(BrokenPipeError):
        SafeConsole(file=_Gone()).print("word " * 10)


class _Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from footnote.client import Retry
from footnote.edge.v1.documents_pb2 import Document, ListDocumentsResponse, UploadDocumentsResponse
from footnote.edge.v1.system_pb2 import IndexingWork
from footnote.types.v1.document_pb2 import Progress
from footnote_cli import group_ingestion, ingestion
from footnote_cli.ingestion import Outcome
from footnote_cli.render.progress import BarReport, fraction, indexing_work, outcome_line, step, vectors
from footnote_cli.render.text import elapsed, milliseconds, one_line, plural, shorten, size
from footnote_kit import errors
from footnote_kit.status import to_proto
from rich.console import Console
from support.doubles.scripted_edge import ScriptedEdge, document
from typer.testing import Result

PROCESSING = Document(state="DOCUMENT_STATE_PROCESSING")
PARSING = Progress(phase="PROGRESS_PHASE_PARSING", pages_parsed=3, pages_total=6)
LATER = Progress(phase="PROGRESS_PHASE_PARSING", pages_parsed=3, pages_total=6, remaining=timedelta(seconds=65))
STORING = Progress(phase="PROGRESS_PHASE_INDEXING", chunks_total=10, chunks_embedded=10, chunks_stored=5)


@pytest.mark.parametrize(
    ("document", "progress", "share", "words"),
    [
        (PROCESSING, Progress(phase="PROGRESS_PHASE_QUEUED"), 20, "in the queue"),
        (PROCESSING, Progress(phase="PROGRESS_PHASE_PARSING"), 20, "reading"),
        (PROCESSING, PARSING, 30, "reading page 3 of 6"),
        (PROCESSING, LATER, 30, "reading page 3 of 6, 1 min 5 s left"),
        (PROCESSING, Progress(phase="PROGRESS_PHASE_INDEXING"), 40, "cutting"),
        (PROCESSING, STORING, 85, "storing 5 of 10 chunks"),
        (Document(waiting_reason="WAITING_REASON_INDEXING_UNAVAILABLE"), PARSING, 30, "waiting: indexing unavailable"),
    ],
)
def test_the_bar_follows_what_the_server_says(document: Document, progress: Progress, share: float, words: str) -> None:
    assert fraction(document, progress) == share
    assert step(document, progress) == words


def test_the_bar_is_full_when_a_document_is_done_well_or_not() -> None:
    for state in ("DOCUMENT_STATE_INDEXED", "DOCUMENT_STATE_ERROR"):
        assert fraction(Document(state=state), PARSING) == 100


def test_vectors_still_to_come_are_said_with_the_time_left() -> None:
    document = Document(state="DOCUMENT_STATE_INDEXED", chunk_count=40)
    owing = Progress(phase="PROGRESS_PHASE_VECTORS", chunks_without_vector=7, remaining=timedelta(seconds=65))
    assert vectors(document, owing) == "40 chunks, found by their words; 7 without a vector yet, 1 min 5 s left"
    assert vectors(document, Progress(phase="PROGRESS_PHASE_DONE")) == "40 chunks"


def test_indexing_work_is_said_with_rate_and_time_left_where_they_are_known() -> None:
    known = IndexingWork(
        documents_waiting=30,
        documents_per_second=2.5,
        documents_remaining=timedelta(seconds=12),
        chunks_without_vector=130,
        vectors_per_second=20,
        vectors_remaining=timedelta(seconds=65),
    )
    assert indexing_work(known) == [
        "Waiting: 30 documents, 2.5 a second, 12.0 s left",
        "Without a vector: 130 chunks, 20.0 a second, 1 min 5 s left",
    ]
    unknown = IndexingWork(documents_waiting=1, chunks_without_vector=1)
    assert indexing_work(unknown) == ["Waiting: 1 document", "Without a vector: 1 chunk"]
    assert indexing_work(IndexingWork(chunks_without_vector=0)) == []


def test_a_finished_file_is_one_line() -> None:
    pdf = Document(state="DOCUMENT_STATE_INDEXED", document_type="pdf", page_count=4, chunk_count=1)
    assert outcome_line(Outcome(Path("a.pdf"), pdf), "a.pdf").plain == "✓ a.pdf  4 pages, 1 chunk"
    assert outcome_line(Outcome(Path("a.pdf"), pdf, duplicate=True), "a.pdf").plain.endswith("was there already")
    assert outcome_line(Outcome(Path("a.pdf"), error="It is empty."), "a.pdf").plain == "✗ a.pdf  It is empty."
    pdf.warnings.add(text="2 of 4 pages hold no text")
    assert outcome_line(Outcome(Path("a.pdf"), pdf), "a.pdf").plain.endswith("1 chunk  2 of 4 pages hold no text")
    accepted = Outcome(Path("a.pdf"), Document(state="DOCUMENT_STATE_UPLOADED"))
    assert outcome_line(accepted, "a.pdf").plain == "· a.pdf  accepted"


def test_bars_come_and_go_and_leave_a_line_for_each_file() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=100)
    path = Path("handbook.pdf")
    with BarReport(console, lambda file: file.name, total=1) as bars:
        bars.uploading(path, 512, 1024)
        bars.progress(path, PROCESSING, STORING)
        bars.waiting(path, "the server is away; trying again")
        bars.finished(Outcome(path, Document(state="DOCUMENT_STATE_INDEXED", chunk_count=10)))
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "✓ " in output
    assert "handbook.pdf" in output
    assert "10 chunks" in output


def test_numbers_are_written_for_people() -> None:
    assert [milliseconds(value) for value in (0.123, 12.34, 1234.4, 45_600)] == [
        "0.12 ms",
        "12.3 ms",
        "1 234 ms",
        "45.6 s",
    ]
    assert [elapsed(value) for value in (0.24, 3.56, 125)] == ["240 ms", "3.6 s", "2 min 5 s"]
    assert [size(value) for value in (812, 14_541, 5 * 1024**2)] == ["812 B", "14.2 KiB", "5.0 MiB"]
    assert [plural(count, "chunk") for count in (0, 1, 7288)] == ["0 chunks", "1 chunk", "7 288 chunks"]


def test_texts_are_cut_where_it_hurts_least() -> None:
    assert one_line("a\n b  c") == "a b c"
    assert one_line("seven words are rather many words here", 20) == "seven words are…"
    assert shorten("quarterly report 7 final.pdf", 12) == "quart…al.pdf"
    assert shorten("short.pdf", 12) == "short.pdf"


class GroupEdge(ScriptedEdge):
    """Takes groups; their documents end when the test says so, long after they were made."""

    def __init__(self) -> None:
        super().__init__()
        self.in_flight = self.most_in_flight = self.wanted_in_flight = 0
        self.all_in_flight = asyncio.Event()
        self.documents: list[Document] = []
        self.pages: list[int] = []
        self.looks_until_end = 0
        self.refusals: list[errors.FootnoteError] = []
        self.failures: dict[str, list[errors.FootnoteError]] = {}
        self.uploads: list[dict[str, str]] = []

    async def UploadDocuments(self, requests: Any, context: Any) -> UploadDocumentsResponse:
        response = UploadDocumentsResponse()
        self.uploads.append({})
        async for request in requests:
            self.uploads[-1][request.metadata.filename] = request.metadata.request_id
            if failures := self.failures.get(request.metadata.filename):
                response.files.add().error.CopyFrom(to_proto(failures.pop(0)))
                continue
            made = document(request.metadata.filename, "UPLOADED")
            made.create_time.FromSeconds(1)
            made.update_time.FromSeconds(1000)
            response.files.add().stored.document.CopyFrom(made)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        if self.in_flight >= self.wanted_in_flight:
            self.all_in_flight.set()
        with suppress(TimeoutError):  # only where fewer than wanted come at once
            await asyncio.wait_for(self.all_in_flight.wait(), 5)
        self.in_flight -= 1
        return response

    async def ListDocuments(self, request: Any, context: Any) -> ListDocumentsResponse:
        if self.refusals:
            raise self.refusals.pop(0)
        start = int(request.page_token or 0)
        if not start:
            self.pages.append(0)
            if len(self.pages) == self.looks_until_end:
                self.documents = [document("a.txt"), document("b.txt"), *self.documents]
        self.pages[-1] += 1
        end = start + request.page_size
        token = str(end) if end < len(self.documents) else ""
        return ListDocumentsResponse(documents=self.documents[start:end], next_page_token=token)


class TestGroups:
    """Folders of small files, which are uploaded many in a call."""

    @pytest.fixture
    def edge(self) -> GroupEdge:
        """An edge that takes groups."""
        return GroupEdge()

    def test_jobs_says_how_many_groups_are_uploaded_at_once(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path
    ) -> None:
        for number in range(6 * 64):
            (tmp_path / f"{number}.txt").write_text(str(number))
        edge.wanted_in_flight = 6
        assert footnote("ingest", str(tmp_path), "--jobs", "6", "--no-wait").exit_code == 0
        assert edge.most_in_flight == 6

    def test_a_name_that_is_no_utf8_stops_nothing(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path
    ) -> None:
        for name in (b"caf\xe9.txt", b"good.txt"):
            (tmp_path / os.fsdecode(name)).write_text("Opens at nine.")
        result = footnote("ingest", str(tmp_path), "--no-wait")
        assert result.exit_code == 0, result.output
        assert "2 documents" in result.output

    def test_looks_for_ends_list_only_what_is_new(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(group_ingestion, "_LOOK_SECONDS", 0.01)
        for second in range(2999, 0, -1):  # two thirds of them ended since the upload
            ended = document(f"{second}.md")
            ended.update_time.FromSeconds(second)
            edge.documents.append(ended)
        edge.looks_until_end = 4
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        assert footnote("ingest", str(tmp_path)).exit_code == 0
        assert edge.pages == [11, 1, 1, 1]

    def test_a_refused_list_leaves_the_question_by_id(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(group_ingestion, "_LOOK_SECONDS", 0.01)
        monkeypatch.setattr(group_ingestion, "_SURE_SECONDS", 0.0)
        edge.refusals = [errors.ResourceExhausted("Too many calls", reason="RATE_LIMITED")] * 20
        edge.refusals.append(errors.PermissionDenied("It goes on asking"))
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        assert footnote("ingest", str(tmp_path)).exit_code == 0

    def test_a_file_that_fails_for_a_while_is_repeated_without_the_others(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ingestion, "_RETRY", Retry(attempts=8, first=0.01, longest=0.01))
        for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
            (tmp_path / name).write_text(name)
        edge.failures = {
            "b.txt": [
                errors.Unavailable("Its parser was killed"),
                errors.ResourceExhausted("Too many files wait to be read", reason="RATE_LIMITED", retry_after=0.01),
                errors.Unavailable("Its parser was killed"),
            ],
            "d.txt": [errors.ResourceExhausted("The tenant is full", reason="QUOTA_EXCEEDED")],
            "c.txt": [errors.InvalidArgument("It is damaged")],
        }
        result = footnote("ingest", str(tmp_path), "--no-wait")
        assert result.exit_code == 1
        assert "It is damaged" in result.output
        assert "The tenant is full" in result.output
        assert "parser" not in result.output
        assert [sorted(one) for one in edge.uploads] == [["a.txt", "b.txt", "c.txt", "d.txt"], *[["b.txt"]] * 3]
        assert len({one["b.txt"] for one in edge.uploads}) == 1, "one request id for all attempts"

    def test_it_is_not_repeated_for_ever(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ingestion, "_RETRY", Retry(attempts=8, first=0.01, longest=0.01))
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        edge.failures = {"b.txt": [errors.Unavailable("Its parser was killed")] * 100}
        result = footnote("ingest", str(tmp_path), "--no-wait")
        assert result.exit_code == 1
        assert "Its parser was killed" in result.output
        assert len(edge.uploads) == 8

    @pytest.mark.parametrize(
        "failure", [errors.Unavailable("It is away"), errors.DeadlineExceeded("It is away")], ids=["away", "still"]
    )
    def test_a_server_that_stays_away_after_the_upload_ends_the_wait(
        self,
        failure: errors.FootnoteError,
        footnote: Callable[..., Result],
        edge: GroupEdge,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(ingestion, "_RETRY", Retry(attempts=3, first=0.01, longest=0.01))
        monkeypatch.setattr(group_ingestion, "_LOOK_SECONDS", 0.01)
        edge.refusals = [failure] * 100
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        result = footnote("ingest", str(tmp_path))
        assert result.exit_code == 1
        assert len(edge.refusals) == 97
        assert "It is away" in result.stdout
        assert result.stderr.count("the server is away or overloaded; trying again") == 1

    def test_a_server_that_comes_back_is_waited_for(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ingestion, "_RETRY", Retry(attempts=3, first=0.01, longest=0.01))
        monkeypatch.setattr(group_ingestion, "_LOOK_SECONDS", 0.01)
        edge.refusals = [errors.Unavailable("It is away")] * 2
        edge.looks_until_end = 2
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        assert footnote("ingest", str(tmp_path)).exit_code == 0

    def test_a_rate_limit_ends_no_wait(
        self, footnote: Callable[..., Result], edge: GroupEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ingestion, "_RETRY", Retry(attempts=2, first=0.01, longest=0.01))
        monkeypatch.setattr(group_ingestion, "_LOOK_SECONDS", 0.01)
        edge.refusals = [errors.ResourceExhausted("Too many calls", reason="RATE_LIMITED")] * 5
        edge.looks_until_end = 1
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        assert footnote("ingest", str(tmp_path)).exit_code == 0

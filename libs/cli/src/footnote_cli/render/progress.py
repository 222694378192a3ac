"""Progress of an ingestion: bars in a terminal, one line per finished document elsewhere."""

from collections.abc import Callable
from pathlib import Path

from footnote.edge.v1.documents_pb2 import Document
from footnote.edge.v1.system_pb2 import IndexingWork
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import Progress
from footnote_kit.printable import printable_line
from google.protobuf.duration_pb2 import Duration
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from footnote_cli.errors import sentence
from footnote_cli.ingestion import Observer, Outcome
from footnote_cli.render import words
from footnote_cli.render.text import elapsed, plural, shorten, size

# Shares of a document's bar. Uploading is quick; embedding and storing the chunks takes most of the time.
_UPLOADED, _PARSED, _WHOLE = 20.0, 40.0, 100.0
_MOST_BARS = 12


def fraction(document: Document, progress: Progress) -> float:
    """Return how much of a document's bar is full once it is uploaded, 20 to 100."""
    if document.state in (document_pb2.DOCUMENT_STATE_INDEXED, document_pb2.DOCUMENT_STATE_ERROR):
        return _WHOLE
    if progress.phase == document_pb2.PROGRESS_PHASE_PARSING and progress.pages_total:
        return _UPLOADED + (_PARSED - _UPLOADED) * min(1.0, progress.pages_parsed / progress.pages_total)
    if progress.phase == document_pb2.PROGRESS_PHASE_INDEXING and progress.chunks_total:
        done = (progress.chunks_embedded + progress.chunks_stored) / (2 * progress.chunks_total)
        return _PARSED + (_WHOLE - _PARSED) * min(1.0, done)
    return _PARSED if progress.phase == document_pb2.PROGRESS_PHASE_INDEXING else _UPLOADED


def step(document: Document, progress: Progress) -> str:
    """Return in a few words what the server is doing to a document."""
    if document.waiting_reason:
        return f"waiting: {words.waiting(document)}"
    if progress.phase == document_pb2.PROGRESS_PHASE_PARSING:
        pages = f" page {progress.pages_parsed} of {progress.pages_total}" if progress.pages_total else ""
        return f"reading{pages}{_left(progress)}"
    if progress.phase == document_pb2.PROGRESS_PHASE_INDEXING:
        if not progress.chunks_total:
            return "cutting"
        return f"storing {progress.chunks_stored} of {plural(progress.chunks_total, 'chunk')}{_left(progress)}"
    return "in the queue"


def vectors(document: Document, progress: Progress) -> str:
    """Return the number of chunks of a searchable document, and how many of them have no vector yet."""
    said = plural(document.chunk_count, "chunk")
    if missing := progress.chunks_without_vector:
        said += f", found by their words; {missing} without a vector yet{_left(progress)}"
    return said


def _left(progress: Progress) -> str:
    """Return the remaining time, if it is known and worth showing."""
    return _lasting(progress.remaining)


def _lasting(left: Duration) -> str:
    return f", {elapsed(left.seconds)} left" if left.seconds else ""


def indexing_work(work: IndexingWork) -> list[str]:
    """Return a line on waiting documents, and one on chunks without a vector: number, rate and time left if known."""
    lines = []
    if work.documents_waiting:
        lines.append(f"Waiting: {plural(work.documents_waiting, 'document')}")
        if work.HasField("documents_per_second"):
            lines[-1] += f", {work.documents_per_second:.1f} a second" + _lasting(work.documents_remaining)
    if work.chunks_without_vector:
        lines.append(f"Without a vector: {plural(work.chunks_without_vector, 'chunk')}")
        if work.HasField("vectors_per_second"):
            lines[-1] += f", {work.vectors_per_second:.1f} a second" + _lasting(work.vectors_remaining)
    return lines


def outcome_line(outcome: Outcome, name: str) -> Text:
    """Return one line on a finished file."""
    document, name = outcome.document, printable_line(name)
    if outcome.failed:
        return Text.assemble(("✗ ", "red"), name, (f"  {printable_line(sentence(outcome.error))}", "red"))
    if document is None or document.state != document_pb2.DOCUMENT_STATE_INDEXED:
        return Text.assemble(("· ", "yellow"), name, "  accepted")
    parts = [plural(document.chunk_count, "chunk")]
    if document.page_count and document.document_type == "pdf":
        parts.insert(0, plural(document.page_count, "page"))
    if outcome.duplicate:
        parts.append("was there already")
    noticed = f"  {printable_line('; '.join(one.text for one in document.warnings))}" if document.warnings else ""
    return Text.assemble(("✓ ", "green"), name, (f"  {', '.join(parts)}", "dim"), (noticed, "yellow"))


class PlainReport(Observer):
    """Prints one line for each finished file, and one where there is no progress."""

    def __init__(self, console: Console, name: Callable[[Path], str]) -> None:
        self._console = console
        self._name = name
        self._said = ""

    def waiting(self, path: Path, why: str) -> None:
        """Print the reason once, until a file is finished."""
        if why != self._said:
            self._console.print(Text.assemble(("· ", "yellow"), why), soft_wrap=True)
        self._said = why

    def finished(self, outcome: Outcome) -> None:
        """Print the result."""
        self._said = ""
        self._console.print(outcome_line(outcome, self._name(outcome.path)), soft_wrap=True)


class BarReport(Observer):
    """Draws a bar for each file at work and one for all of them; finished files become a line above the bars."""

    def __init__(self, console: Console, name: Callable[[Path], str], total: int) -> None:
        self._console = console
        self._name = name
        name_width = max(12, min(40, console.width // 3))
        self._overall = Bars(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._files = Bars(
            TextColumn("{task.description}", style="cyan", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[step]}", style="dim", markup=False),
            console=console,
        )
        self._name_width = name_width
        self._task = self._overall.add_task("Documents".ljust(name_width), total=total)
        self._tasks: dict[Path, TaskID] = {}
        self._live = Live(Group(self._files, self._overall), console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> "BarReport":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def uploading(self, path: Path, sent: int, total: int) -> None:
        """Move the bar by the share of bytes sent."""
        words = f"uploading {size(sent)} of {size(total)}"
        self._update(path, _UPLOADED * sent / max(1, total), words)

    def progress(self, path: Path, document: Document, progress: Progress) -> None:
        """Move the bar to where the server is."""
        self._update(path, fraction(document, progress), step(document, progress))

    def waiting(self, path: Path, why: str) -> None:
        """Keep the bar and say why it stands still."""
        self._update(path, None, why)

    def finished(self, outcome: Outcome) -> None:
        """Turn the bar into a line."""
        task = self._tasks.pop(outcome.path, None)
        if task is not None:
            self._files.remove_task(task)
        self._overall.advance(self._task)
        self._console.print(outcome_line(outcome, self._name(outcome.path)))

    def _update(self, path: Path, completed: float | None, words: str) -> None:
        task = self._tasks.get(path)
        if task is None:
            if len(self._tasks) >= _MOST_BARS:
                return
            name = printable_line(self._name(path))
            shown = shorten(name, self._name_width).ljust(self._name_width)
            task = self._tasks[path] = self._files.add_task(shown, total=_WHOLE, step=words)
        self._files.update(task, completed=completed, step=printable_line(words))

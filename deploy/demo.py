"""Shows the whole product in a minute: starts every service, ingests the sample handbook, asks three questions, stops.

Run it with `make demo`. Everything happens in a folder of its own on free ports and is gone afterwards. Exit code 0
means that every answer was right and that its footnote named the right file and place.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

SAMPLES = Path(__file__).resolve().parent / "samples" / "handbook"
FOOTNOTE = [sys.executable, "-m", "footnote_cli.main"]
START_SECONDS = 120
STOP_SECONDS = 30


class DemoError(Exception):
    """Something was not as it should be; the message says what."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is known: a pattern for the answer, one for the footnote that must be under it."""

    text: str
    answer: str
    footnote: str
    place: str
    remark: str


QUESTIONS = [
    Question(
        "How many months of warranty does the Polaris Laser Tracker have?",
        answer=r"\b60\b",
        footnote=r"products\.xlsx, sheet 'Products', cell C5\b",
        place="the cell C5 of products.xlsx",
        remark="the answer is one cell of a spreadsheet",
    ),
    Question(
        "How much is the daily travel allowance abroad?",
        answer=r"\b54 euros\b",
        footnote=r"handbook\.pdf, page 3\b",
        place="page 3 of handbook.pdf",
        remark="the answer is on page 3 of a PDF",
    ),
    Question(
        "Combien de jours par semaine peut-on télétravailler à Lyon ?",
        answer=r"\bdeux jours par semaine\b",
        footnote=r"guide-lyon\.md, lignes? ",
        place="the right lines of guide-lyon.md, in French",
        remark="asked and answered in French; the last one also draws where the time went",
    ),
]


def say(text: str = "") -> None:
    """Print a line of the story."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def environment() -> dict[str, str]:
    """Return this process' variables without Footnote's: they may name another installation's databases or keys."""
    kept = {"FOOTNOTE_E5_CACHE_DIR"}  # where a model's files are made, if not in the home folder
    return {name: value for name, value in os.environ.items() if name in kept or not name.startswith("FOOTNOTE_")}


def footnote(*arguments: str, address: str) -> str:
    """Run a command against the demo's server, show it with its output, and return the output."""
    shown = " ".join(f'"{part}"' if " " in part else part for part in arguments)
    say(f"$ footnote {shown.replace(str(SAMPLES), os.path.relpath(SAMPLES))}")
    process = subprocess.Popen(
        [*FOOTNOTE, *arguments],
        env={**environment(), "FOOTNOTE_EDGE_ADDRESS": address},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = []
    for line in process.stdout:
        sys.stdout.write(f"  {line}" if line.strip() else "\n")
        sys.stdout.flush()
        output.append(line)
    process.stdout.close()
    if process.wait() != 0:
        raise DemoError(f"`footnote {shown}` ended with exit code {process.returncode}")
    return "".join(output)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run `footnote serve all` in a folder and yield the edge's address once everything is ready."""
    log = folder / "server.log"
    with log.open("w+") as errors:
        command = [*FOOTNOTE, "serve", "all", "--data-dir", str(folder / "data"), "--port-base", "0"]
        process = subprocess.Popen(
            [*command, "--log-format", "json"], env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            yield _wait_ready(process, folder / "data")
        except DemoError:
            say(_tail(errors))
            raise
        finally:
            _stop(process)


def _wait_ready(process: subprocess.Popen[str], data: Path) -> str:
    # A server that hangs while it starts must not hang the demo.
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(START_SECONDS)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("footnote is "):
                if not line.startswith("footnote is ready"):
                    raise DemoError(f"The server started, but not everything in it: {line.strip()}")
                say("  " + line.split("  (")[0].strip())
                address: str = json.loads((data / "addresses.json").read_text())["edge"]
                return address
        raise DemoError(f"The server ended while it started, with exit code {process.wait()}")
    finally:
        signal.alarm(0)


def _too_late(*_: object) -> None:
    raise DemoError(f"The server was not ready within {START_SECONDS} seconds")


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _tail(file: TextIO) -> str:
    file.seek(0)
    return "".join(file.readlines()[-20:])


def check(question: Question, output: str) -> None:
    """Compare an answer and its footnotes with what they must be. Raises DemoError."""
    answer, _, notes = output.partition("\n[")
    notes = notes.split("\nTrace ", 1)[0]
    if not re.search(question.answer, answer):
        raise DemoError(f"The answer to “{question.text}” does not say {question.answer}")
    if not re.search(question.footnote, notes):
        raise DemoError(f"No footnote of “{question.text}” names {question.footnote}")


def main() -> None:
    """Tell the story."""
    folder = Path(tempfile.mkdtemp(prefix="footnote-demo-"))
    try:
        say("1. Start all six services and the embedded vector engine on free ports, with an empty data folder.")
        say("$ footnote serve all")
        with server(folder) as address:
            say("\n2. Ingest the handbook of a company that doesn't exist: pdf, docx, xlsx, csv, html, md, txt.")
            footnote("ingest", str(SAMPLES), "--collection", "handbook", address=address)
            say("\n3. Ask. No model and no key is needed: the built-in answerer quotes the documents.")
            for question in QUESTIONS:
                say(f"\n   ({question.remark})")
                extra = ["--trace"] if question is QUESTIONS[-1] else []
                output = footnote("ask", question.text, "--collection", "handbook", *extra, address=address)
                check(question, output)
                say(f"  ✓ right, and its footnote points to {question.place}")
        say("\nEverything is stopped. Next: footnote serve all, then footnote ingest YOUR-DOCUMENTS")
    except DemoError as error:
        sys.exit(f"\nThe demo failed: {error}.")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""Prints failures as they happen, then how long each file took and why tests were skipped.

A pytest plugin. With several workers the times of a file add up over them. Processor time includes processes that tests
started and waited for: it says what a file costs, whatever else the machine did.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support import starting

SLOWEST = 10
TABLE = "FOOTNOTE_TEST_TIMES"
"""The variable that names a file for the table of all files: seconds, of the processor, number of tests, path."""

_seconds: defaultdict[str, float] = defaultdict(float)
_processor: defaultdict[str, float] = defaultdict(float)
_spent = 0.0
_tests: Counter[str] = Counter()


def pytest_configure(config: pytest.Config) -> None:
    """Register what prints failures, in the process that has the terminal."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(config), "failures as they happen")


class _Failures:
    """Names each test that fails at once: a long run need not end first."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            assert terminal is not None
            reason = report.longreprtext.strip().splitlines()
            said = next((line for line in reversed(reason) if line.startswith("E ")), reason[-1] if reason else "")
            terminal.write_line(f"\nFAILED at {report.when}: {report.nodeid}\n  {said[:200]}")


def _processor_seconds() -> float:
    """Return what this process and those that it has waited for have used, deployments started as forks included."""
    return sum(os.times()[:4]) + starting.shared_processor_seconds()


def pytest_collection_finish() -> None:
    """Begin to count: what collecting costs is no test's."""
    global _spent
    _spent = _processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write on each report, where the test runs, what was used since the one before it."""
    global _spent
    report = yield
    before, _spent = _spent, _processor_seconds()
    report.processor_seconds = _spent - before
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up set-up, call and tear-down of each test by its file."""
    file = report.nodeid.partition("::")[0]
    _seconds[file] += report.duration
    _processor[file] += getattr(report, "processor_seconds", 0.0)
    _tests[file] += report.when == "call"


def rows() -> list[tuple[float, float, int, str]]:
    """Return seconds, of the processor, number of tests and path of each file, the slowest first."""
    found = ((seconds, _processor[file], _tests[file], file) for file, seconds in _seconds.items())
    return sorted(found, reverse=True)


def _skipped(reports: list[pytest.TestReport]) -> Counter[str]:
    """Return how many tests were skipped for each reason."""
    reasons = [one.longrepr[2] if isinstance(one.longrepr, tuple) else str(one.longrepr) for one in reports]
    return Counter(reason.removeprefix("Skipped: ") for reason in reasons)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the slowest files; write all of them to the file that the variable names."""
    found = rows()
    if hasattr(config, "workerinput") or len(found) < 2:
        return
    terminalreporter.section("seconds by file")
    for seconds, used, tests, file in found[:SLOWEST]:
        terminalreporter.line(f"{seconds:8.1f} s, {used:7.1f} of the processor {tests:6} tests  {file}")
    seconds, used, tests = (sum(row[column] for row in found) for column in (0, 1, 2))
    terminalreporter.line(f"{seconds:8.1f} s, {used:7.1f} of the processor {tests:6} tests  in {len(found)} files")
    if skipped := _skipped(terminalreporter.stats.get("skipped", [])):
        terminalreporter.section("skipped, and what would enable it")
        for reason, count in skipped.most_common():
            terminalreporter.line(f"{count:6}  {reason}")
    if named := os.environ.get(TABLE):
        lines = [f"{seconds:.2f}\t{used:.2f}\t{tests}\t{file}\n" for seconds, used, tests, file in found]
        with Path(named).open("a", encoding="utf-8") as table:
            table.writelines(lines)

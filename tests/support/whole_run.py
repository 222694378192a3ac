"""Says where a run of tests ended before all of them had run, and fails the run that repeats its failures.

`.ci/run` repeats what failed, alone, and passes if that passes. A run that breaks off (an error of pytest, workers that
crash) leaves tests that neither ran nor failed: the repetition then fails as well. A pytest plugin.
"""

from __future__ import annotations

from typing import Any

import pytest

_KEY = "footnote/whole"
EXIT = pytest.ExitCode.INTERNAL_ERROR


def pytest_configure(config: pytest.Config) -> None:
    """Register what counts, in the process that has the terminal."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        config.pluginmanager.register(Runs(config), "whole runs")


class Runs:
    """Counts the tests that were collected and that ran; the cache holds whether the last run was whole."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._repeats = bool(getattr(config.option, "lf", False))
        self._collected = 0
        self._ran: set[str] = set()

    def pytest_sessionstart(self) -> None:
        """Take a run for broken off until it has ended: a killed one says nothing more."""
        if not self._repeats:
            self._config.cache.set(_KEY, False)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count, without workers."""
        self._collected = max(self._collected, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Count what each worker has found, which is the same for all."""
        self._collected = max(self._collected, len(ids))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that ended, also with its worker, which is repeated like one that failed."""
        if report.when not in ("setup", "call"):
            self._ran.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run that broke off, and one that repeats the failures of such a run."""
        if self._repeats:
            if not self._config.cache.get(_KEY, True):
                self._fail(session, "The run whose failures this repeats broke off: not all tests have run.")
            return
        whole = exitstatus in (0, 1, 5) and len(self._ran) >= self._collected
        self._config.cache.set(_KEY, whole)
        if not whole and exitstatus in (0, 1):
            self._fail(session, f"Of {self._collected} tests {len(self._ran)} have run: the run broke off.")

    def _fail(self, session: pytest.Session, why: str) -> None:
        session.exitstatus = EXIT
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line(f"\n{why}", red=True)

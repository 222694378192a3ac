"""What dbos reports of jobs reaches the log, but not that the end of the process interrupts one."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from footnote_edge.adapters import job_ledger


@pytest.fixture(autouse=True)
def dbos_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of dbos, as edge sets it up; afterwards it is as before."""
    logger = logging.getLogger("dbos")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "filters", [])
    job_ledger._hush_dbos()


def reported(error: Exception, caplog: pytest.LogCaptureFixture) -> bool:
    with caplog.at_level(logging.ERROR, "dbos"):
        logging.getLogger("dbos").error("Exception encountered in asynchronous workflow:", exc_info=error)
    return bool(caplog.records)


def test_a_job_that_the_end_interrupts_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError) as refused:
        pool.submit(Path)
    assert not reported(refused.value, caplog)


@pytest.mark.parametrize("error", [RuntimeError("a fault"), ValueError("after shutdown")])
def test_other_failures_are(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    assert reported(error, caplog)

"""When descriptors run out, the log says so in a sentence, not in a traceback for each connection."""

import errno
import logging

import pytest
from footnote_kit.logs import SHORTAGE_PAUSE_SECONDS, ShortageFilter, configure
from footnote_kit.settings import KitSettings


def record(error: BaseException) -> logging.LogRecord:
    made = logging.LogRecord("asyncio", logging.ERROR, __file__, 1, "socket.accept() out of %s", ("resource",), None)
    made.exc_info = (type(error), error, None)
    return made


def test_a_thousand_failures_are_two_lines() -> None:
    now = 0.0
    filter = ShortageFilter(lambda: now)
    full = OSError(errno.EMFILE, "Too many open files")
    first = record(full)
    assert filter.filter(first)
    assert first.exc_info is None
    assert "ulimit -n" in first.getMessage()
    assert not any(filter.filter(record(full)) for _ in range(1000))
    now = SHORTAGE_PAUSE_SECONDS
    later = record(full)
    assert filter.filter(later)
    assert "1000 more such errors" in later.getMessage()


def test_a_shortage_may_be_the_cause_and_other_errors_stay_as_they_are() -> None:
    filter = ShortageFilter(lambda: 0.0)
    try:
        raise RuntimeError("not opened") from OSError(errno.ENFILE, "full")
    except RuntimeError as error:
        caused = record(error)
    assert filter.filter(caused)
    assert "fs.file-max" in caused.getMessage()
    for other in (ValueError("x"), OSError(errno.ECONNRESET, "reset")):
        kept = record(other)
        assert filter.filter(kept)
        assert kept.exc_info is not None
        assert kept.getMessage() == "socket.accept() out of resource"


def test_the_log_of_a_service_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        configure(KitSettings(log_format="json"))
        for _ in range(5):
            logging.getLogger("asyncio").error("accept", exc_info=OSError(errno.EMFILE, "Too many open files"))
    finally:
        root.handlers = handlers
        root.setLevel(level)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "Traceback" not in lines[0]

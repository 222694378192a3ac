"""Log lines for people contain nothing that acts on a terminal."""

import logging
from collections.abc import Iterator

import pytest
from footnote_kit import logs
from footnote_kit.settings import KitSettings

HOSTILE = "x\x1b]0;pwned\x07\x1b[2J\u202ey\x9b31m\nforged line\r\x00"


@pytest.fixture
def root() -> Iterator[None]:
    """The root logger as it was, after the test too."""
    root = logging.getLogger()
    before, level = root.handlers, root.level
    yield
    root.handlers = before
    root.setLevel(level)


@pytest.mark.parametrize("form", ["human", "json"])
def test_hostile_events(form: str, root: None, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(KitSettings(log_format=form, log_level="warning"))
    logs.get_logger("test").warning("happened", name=HOSTILE, names=[HOSTILE], **{HOSTILE: 1})
    logging.getLogger("library").warning("said %s", HOSTILE)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("library").exception("failed")
        logs.get_logger("test").exception("failed", error=HOSTILE)
    text = capsys.readouterr().err
    assert "happened" in text
    assert not [char for char in text if char in "\x1b\x07\x9b\u202e\r\x00"]
    # Nothing poses as a line of its own; tracebacks are indented.
    assert not [line for line in text.splitlines() if line.startswith("forged line")]

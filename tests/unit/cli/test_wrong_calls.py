"""What is typed wrongly is refused with what to type instead."""

from __future__ import annotations

import sys

import pytest
from footnote_cli import main
from footnote_cli.errors import EXIT_USAGE


def refusal(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["footnote", *arguments])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == EXIT_USAGE
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "there"),
    [(["upload", "a.pdf"], ["ingest", "ask", "documents", "admin"]), (["documents", "ls"], ["list", "replace"])],
)
def test_an_unknown_command_is_refused_with_those_that_are_there(
    arguments: list[str], there: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(arguments, monkeypatch, capsys)
    commands = said.partition("Its commands: ")[2].partition(". See: footnote")[0].split(", ")
    assert set(there) <= set(commands)


def test_an_unknown_option_is_refused_without_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Its commands" not in refusal(["--nonsense"], monkeypatch, capsys)

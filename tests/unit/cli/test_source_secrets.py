"""Secrets of sources reach the command by files or its input, never by its arguments."""

import io
from pathlib import Path

import pytest
from footnote_cli.commands.sources import _secrets
from footnote_cli.errors import CommandError


def test_a_secret_of_several_lines_is_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("first\nsecond\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("typed\n"))
    found = _secrets([f"private_key=@{tmp_path / 'key'}", "password"])
    assert dict(found) == {"private_key": "first\nsecond\n", "password": "typed"}


@pytest.mark.parametrize("content", [b"hunter2", b"hunter2\n", b"hunter2\r\n"])
def test_the_end_of_a_file_s_only_line_is_no_part_of_a_secret(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "password").write_bytes(content)
    assert dict(_secrets([f"password=@{tmp_path / 'password'}"])) == {"password": "hunter2"}


@pytest.mark.parametrize("wrong", ["password=hunter2", "password=@/nowhere/at/all", "a=b=@/etc/hostname"])
def test_a_secret_is_no_argument(wrong: str) -> None:
    with pytest.raises(CommandError) as caught:
        _secrets([wrong])
    assert "hunter2" not in str(caught.value)

import json
from pathlib import Path

import pytest
from footnote_cli.addresses import edge_address
from footnote_cli.errors import CommandError


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOOTNOTE_EDGE_ADDRESS", raising=False)
    monkeypatch.delenv("FOOTNOTE_DATA_DIR", raising=False)


def write(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "addresses.json").write_text(text)


def test_what_is_given_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_ADDRESS", "b:2")
    write(Path("footnote-data"), json.dumps({"edge": "c:3"}))
    assert edge_address("a:1") == "a:1"
    assert edge_address() == "b:2"


def test_a_server_started_here_is_found() -> None:
    write(Path("footnote-data"), json.dumps({"edge": "c:3", "retrieval": "d:4"}))
    assert edge_address() == "c:3"


def test_the_data_folder_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "other", json.dumps({"edge": "e:5"}))
    monkeypatch.setenv("FOOTNOTE_DATA_DIR", str(tmp_path / "other"))
    assert edge_address() == "e:5"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"edge": 3}'])
def test_an_unreadable_file_means_the_default(text: str) -> None:
    write(Path("footnote-data"), text)
    assert edge_address() == "127.0.0.1:7100"


@pytest.mark.parametrize("text", ["a:1", "https://a.example:443", "[::1]:7100", "unix:/run/edge.sock", "dns:///edge:1"])
def test_addresses_that_can_be_called(text: str) -> None:
    assert edge_address(text) == text


@pytest.mark.parametrize("text", ["edge", "a:70000", "http://a", "a:b", "a:1/v1"])
def test_what_is_no_address_is_a_wrong_call(text: str) -> None:
    with pytest.raises(CommandError, match="is not an address") as caught:
        edge_address(text)
    assert caught.value.exit_code == 2

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from footnote_cli import addresses
from footnote_cli.addresses import edge_address
from footnote_cli.errors import CommandError


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, and no variable that names an address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOOTNOTE_EDGE_ADDRESS", raising=False)
    monkeypatch.delenv("FOOTNOTE_DATA_DIR", raising=False)


def write(folder: Path, text: str, mark: str | None = None) -> None:
    """Write what a server leaves in its folder; by default one that lives: this process."""
    for one in (folder, folder / "locks"):
        one.mkdir(exist_ok=True, mode=0o700)
    for file, content in (
        (folder / "addresses.json", text),
        (folder / "locks" / "edge.lock", addresses.mark() if mark is None else mark),
    ):
        file.write_text(content)
        file.chmod(0o600)


def test_what_is_given_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_ADDRESS", "b:2")
    write(Path("footnote-data"), json.dumps({"edge": "c:3"}))
    assert edge_address("a:1") == "a:1"
    assert edge_address() == "b:2"


def test_a_server_started_here_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("footnote-data"), json.dumps({"edge": "127.0.0.1:3", "retrieval": "d:4"}))
    assert edge_address() == "127.0.0.1:3"
    assert capsys.readouterr().err == ""


def test_the_data_folder_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "other", json.dumps({"edge": "[::1]:5"}))
    monkeypatch.setenv("FOOTNOTE_DATA_DIR", str(tmp_path / "other"))
    assert edge_address() == "[::1]:5"


LIVING = json.dumps({"edge": "127.0.0.1:3"})


def remote(folder: Path) -> None:
    write(folder, json.dumps({"edge": "attacker.example:443"}))


def on_the_network(folder: Path) -> None:
    write(folder, json.dumps({"edge": "https://10.0.0.1:443"}))


def through_a_name(folder: Path) -> None:
    write(folder, json.dumps({"edge": "dns:///attacker.example:443"}))


def ended(folder: Path) -> None:
    write(folder, LIVING, f"{2**22 + 1} 5")


def of_another_process_with_its_number(folder: Path) -> None:
    write(folder, LIVING, f"{os.getpid()} 1")


def of_nobody(folder: Path) -> None:
    write(folder, LIVING)
    (folder / "locks" / "edge.lock").unlink()


def a_file_for_all(folder: Path) -> None:
    write(folder, LIVING)
    (folder / "addresses.json").chmod(0o666)


def a_folder_for_all(folder: Path) -> None:
    write(folder, LIVING)
    folder.chmod(0o777)


def locks_for_all(folder: Path) -> None:
    write(folder, LIVING)
    (folder / "locks").chmod(0o777)


def a_link(folder: Path) -> None:
    write(folder, LIVING)
    (folder / "addresses.json").rename(folder / "other.json")
    (folder / "addresses.json").symlink_to("other.json")


def another_users(folder: Path) -> None:
    write(folder, LIVING)
    os.chown(folder / "addresses.json", 12345, 12345)


def in_another_users_folder(folder: Path) -> None:
    write(folder, LIVING)
    os.chown(folder, 12345, 12345)


@pytest.mark.parametrize(
    "lay",
    [
        remote, on_the_network, through_a_name, ended, of_another_process_with_its_number, of_nobody, a_file_for_all,
        a_folder_for_all, locks_for_all, a_link, another_users, in_another_users_folder,
    ],
)  # fmt: skip
def test_a_foreign_or_stale_file_gets_nobodys_key_and_is_warned_of(
    lay: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    if lay in (another_users, in_another_users_folder) and os.geteuid() != 0:
        pytest.skip("only root can make files of others")
    lay(Path("footnote-data"))
    assert edge_address() == "127.0.0.1:7100"
    warned = capsys.readouterr().err
    assert warned.startswith("Warning: footnote-data/addresses.json is ignored: ")
    assert warned.count("\n") == 1
    assert "FOOTNOTE_EDGE_ADDRESS" in warned


def test_a_folder_without_a_file_is_nothing_to_warn_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert edge_address() == "127.0.0.1:7100"
    write(Path("footnote-data"), json.dumps({"retrieval": "127.0.0.1:4"}))
    assert edge_address() == "127.0.0.1:7100"
    assert capsys.readouterr().err == ""


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

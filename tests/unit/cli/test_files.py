from pathlib import Path

import pytest
from footnote_cli.errors import CommandError
from footnote_cli.files import find_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.pdf", "sub/c.txt", ".hidden/d.txt", ".e"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(name)
    return tmp_path


def names(files: list[Path], folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in files]


def test_a_folder_means_all_its_files_but_hidden_ones(folder: Path) -> None:
    assert names(find_files([str(folder)]), folder) == ["a.pdf", "b.txt", "sub/c.txt"]


def test_a_hidden_file_named_outright_is_taken(folder: Path) -> None:
    assert names(find_files([str(folder / ".e")]), folder) == [".e"]


def test_a_pattern_reaches_into_folders(folder: Path) -> None:
    assert names(find_files([str(folder / "**" / "*.txt")]), folder) == ["b.txt", "sub/c.txt"]


def test_each_file_comes_once(folder: Path) -> None:
    found = find_files([str(folder), str(folder / "b.txt"), str(folder / "sub" / ".." / "a.pdf")])
    assert len(found) == 3


@pytest.mark.parametrize("path", ["missing.txt", "missing/*.txt"])
def test_what_is_not_there_is_a_wrong_call(folder: Path, path: str) -> None:
    with pytest.raises(CommandError) as caught:
        find_files([str(folder / path)])
    assert caught.value.exit_code == 2

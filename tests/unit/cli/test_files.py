# ruff: noqa: E501 - a table of names
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote_cli.errors import CommandError
from footnote_cli.files import find_files
from footnote_cli.transfers import Download, read_parts, safe_name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with plain, nested and hidden files."""
    for name in ("b.txt", "a.pdf", "sub/c.txt", ".hidden/d.txt", ".e"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(name)
    return tmp_path


def names(files: list[Path], folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in files]


def test_a_folder_means_all_its_files_but_hidden_ones(folder: Path) -> None:
    assert names(find_files([str(folder)]).files, folder) == ["a.pdf", "b.txt", "sub/c.txt"]


def test_a_hidden_file_named_outright_is_taken(folder: Path) -> None:
    assert names(find_files([str(folder / ".e")]).files, folder) == [".e"]


def test_a_pattern_reaches_into_folders(folder: Path) -> None:
    assert names(find_files([str(folder / "**" / "*.txt")]).files, folder) == ["b.txt", "sub/c.txt"]


def test_each_file_comes_once(folder: Path) -> None:
    found = find_files([str(folder), str(folder / "b.txt"), str(folder / "sub" / ".." / "a.pdf")]).files
    assert len(found) == 3


@pytest.mark.parametrize("path", ["missing.txt", "missing/*.txt"])
def test_what_is_not_there_is_a_wrong_call(folder: Path, path: str) -> None:
    with pytest.raises(CommandError) as caught:
        find_files([str(folder / path)])
    assert caught.value.exit_code == 2


def forbid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder unreadable, also to root."""
    scandir = os.scandir

    def failing(path: str) -> Any:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)


@pytest.fixture
def linked(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with links: to a file outside, to a folder outside, round in a circle, and to nothing."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "sub" / "out").symlink_to(outside)
    (folder / "sub" / "round").symlink_to(folder)
    (folder / "sub" / "round2").symlink_to(folder / "sub")
    (folder / "gone.txt").symlink_to(folder / "nothing")
    return folder


@pytest.mark.parametrize(
    "given", [".", "*", "**/*", "**/*.txt", "sub/*", "*/*/*", "link.txt", "sub/out", "sub/o*/*", "[ls]*"]
)
def test_links_are_left_out_and_said(linked: Path, given: str) -> None:
    found = find_files([str(linked / given)])
    assert all("secret" not in file.read_text() for file in found.files)
    assert not [file for file in found.files if file.is_symlink()]
    assert found.links
    assert all(link.is_symlink() for link in found.links)


def test_links_are_followed_when_asked(linked: Path) -> None:
    found = find_files([str(linked)], follow_symlinks=True)
    assert sorted(file.read_text() for file in found.files) == ["a.pdf", "b.txt", "secret", "sub/c.txt"]
    assert found.links == []


@pytest.mark.parametrize("given", [".", "*", "sub"])
def test_folders_that_cannot_be_read_are_said(folder: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(folder / "sub", monkeypatch)
    found = find_files([str(folder / given)])
    assert found.unread == [folder / "sub"]
    assert names(found.files, folder) == ([] if given == "sub" else ["a.pdf", "b.txt"])


class TestPermissions:
    """Files and folders that an ordinary user may not read."""

    @pytest.fixture(autouse=True)
    def listed_only(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Let an ordinary user list the folder `sub`, and not enter it."""
        monkeypatch.chdir(folder)
        folder.chmod(0o755)
        (folder / "sub").chmod(0o644)
        owner = os.geteuid()
        if not owner:
            os.seteuid(65534)
        yield
        os.seteuid(owner)
        (folder / "sub").chmod(0o755)

    @pytest.mark.parametrize("follow", [False, True])
    @pytest.mark.parametrize("given", [".", "*", "sub", "s*"])
    def test_a_folder_that_may_not_be_entered_is_said(self, given: str, follow: bool) -> None:
        found = find_files([given], follow_symlinks=follow)
        assert found.unread == [Path("sub")]
        assert [str(file) for file in found.files] == (["a.pdf", "b.txt"] if given in (".", "*") else [])

    def test_a_pattern_names_files_behind_it(self) -> None:
        assert [str(file) for file in find_files(["*/*"]).files] == ["sub/c.txt"]

    @pytest.mark.parametrize("given", ["sub/c.txt", "sub/c*", "sub/inner/*.txt", "sub/**/*.txt", "a" * 300])
    @pytest.mark.parametrize("follow", [False, True])
    def test_a_path_behind_it_is_a_wrong_call(self, given: str, follow: bool) -> None:
        with pytest.raises(CommandError, match=r"cannot be read: (Permission denied|File name too long)") as caught:
            find_files([given], follow_symlinks=follow)
        assert caught.value.exit_code == 2


def test_a_home_of_nobody_is_a_wrong_call() -> None:
    with pytest.raises(CommandError, match="There is no file or folder"):
        find_files(["~nobody-of-this-name/a.txt"])


def test_followed_links_to_nothing_are_said(linked: Path) -> None:
    assert find_files([str(linked)], follow_symlinks=True).unread == [linked / "gone.txt"]


async def test_a_file_that_became_a_link_is_not_read(linked: Path) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - its words differ between systems
        [part async for part in read_parts(linked / "link.txt", follow_symlinks=False)]


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("..\\..\\x.txt", "x.txt"), ("..", "document"), (".", "document"),
        ("", "document"), ("/", "document"), ("a/..", "document"), ("\x00", "document"), ("x\x1b]0;y\x07\n.pdf", "x .pdf"), ("\u202efdp.x", "fdp.x"),
        ("a" * 500 + ".pdf", "a" * 196 + ".pdf"), ("é" * 300, "é" * 100), ("x." + "y" * 400, "x." + "y" * 198),
    ],
)  # fmt: skip
def test_a_servers_name_stays_in_its_folder(sent: str, name: str, tmp_path: Path) -> None:
    assert safe_name(sent) == name
    file = Download(tmp_path, force=False)
    file.write(sent, b"data")
    file.finish()
    file.abandon()
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [(name, b"data")]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["link to a file", "link to nothing", "link to a folder", "folder"])
@pytest.mark.parametrize("late", [False, True])
def test_a_download_writes_through_no_link(tmp_path: Path, kind: str, force: bool, late: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    into = tmp_path / "into"
    into.mkdir()

    def lay() -> None:
        target = into / "x.txt"
        if kind == "folder":
            target.mkdir()
        else:
            target.symlink_to(outside / {"link to a file": "kept.txt", "link to nothing": "new.txt"}.get(kind, ""))

    file = Download(into, force=force)
    if not late:
        lay()
    with pytest.raises(CommandError):  # noqa: PT012 - the link may be laid in between
        file.write("x.txt", b"data")
        lay()
        file.finish()
    file.abandon()
    assert (outside / "kept.txt").read_text() == "kept"
    assert [entry.name for entry in outside.iterdir()] == ["kept.txt"]
    assert [entry.name for entry in into.iterdir()] == ["x.txt"]


def test_force_writes_over_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("old")
    file = Download(tmp_path, force=True)
    file.write("x.txt", b"new")
    file.finish()
    file.abandon()
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("x.txt", "new")]

"""What a source's secrets, links and objects may try: to lead out of what the operator allows, or to harm edge."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from dulwich.objects import Blob, Tree
from dulwich.repo import Repo
from footnote_edge.sources.kinds import BUCKET, GIT, git_repository
from footnote_edge.sources.kinds.mailbox import MAILBOX
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Item, Opening, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import check, parsed
from footnote_edge.sources.testing import Memory, content, listing
from footnote_kit.errors import InvalidArgument
from support.source_servers import GitRepository

GCS = {"provider": "gcs", "bucket": "docs"}
KEY = {
    "type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": "x", "client_email": "a@b",
    "token_uri": "https://10.1.2.3/token", "universe_domain": "inside.corp",
}  # fmt: skip


def opening(kind: Any, folder: Path, settings: dict[str, Any], secrets: dict[str, Any] | None = None) -> Opening:
    policy = Policy.of((), (), (str(folder / "allowed"),), timeout=2.0, item_bytes=1024 * 1024, items=1000)
    values = parsed(kind.settings, settings), parsed(kind.secrets, secrets or {})
    return Opening(*values, "acme", folder / "cache", policy, False)


@pytest.mark.parametrize("more", [{"gcs_base_url": "https://10.1.2.3"}, {"disable_oauth": True}])
def test_a_buckets_key_does_not_choose_where_it_is_sent(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(more))):
        check(BUCKET, GCS, {"service_account_key": json.dumps(KEY | more)})


@pytest.mark.parametrize("key", ["not json", "[1]", "[" * 9000])
def test_a_buckets_key_is_json(key: str) -> None:
    with pytest.raises(InvalidArgument, match="service_account_key: must be the JSON"):
        check(BUCKET, GCS, {"service_account_key": key})


def test_a_buckets_usual_key_is_taken_without_its_addresses(tmp_path: Path) -> None:
    check(BUCKET, GCS, {"service_account_key": json.dumps(KEY)})
    secrets = opening(BUCKET, tmp_path, GCS, {"service_account_key": json.dumps(KEY)}).secrets
    assert json.loads(secrets.service_account_key).keys() == {"type", "private_key_id", "private_key", "client_email"}


async def items(kind: Any, opened: Opening) -> dict[str, bytes]:
    connection = kind.open(opened)
    try:
        found: list[Item] = [one for page in await listing(connection, Memory()) for one in page.items]
        return {one.id: await content(connection, one) for one in found}
    finally:
        await connection.close()


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    """A Maildir with one mail, in a folder that the operator allows."""
    box = tmp_path / "allowed" / "box"
    for part in ("cur", "new", "tmp"):
        (box / part).mkdir(parents=True)
    (box / "cur" / "1.host:2,S").write_text("Subject: A\nMessage-ID: <a@b>\n\nMine\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "2.host:2,S").write_text("Subject: B\n\nSecret\n")
    return box


@pytest.mark.timeout(20)
async def test_a_maildir_reads_no_link_and_waits_for_no_pipe(maildir: Path, tmp_path: Path) -> None:
    (maildir / "cur" / "2.host:2,S").symlink_to(tmp_path / "outside" / "2.host:2,S")
    os.mkfifo(maildir / "new" / "3.host")
    opened = opening(MAILBOX, tmp_path, {"path": str(maildir), "format": "maildir"})
    assert list(await items(MAILBOX, opened)) == ["<a@b>"]
    connection = MAILBOX.open(opened)
    pages = await listing(connection, Memory())
    assert any("1 links were left out" in warning for page in pages for warning in page.warnings)
    listed = pages[0].items[0]
    (maildir / "cur" / "1.host:2,S").rename(maildir / "cur" / "1.host:2,SF")  # the reader marked it
    assert b"Mine" in await content(connection, listed)
    (maildir / "cur" / "1.host:2,SF").unlink()
    (maildir / "cur" / "1.host:2,SF").symlink_to(tmp_path / "outside" / "2.host:2,S")  # put there after the listing
    with pytest.raises(SourceUnavailable):
        await content(connection, listed)


async def test_a_maildirs_own_folders_are_no_links(maildir: Path, tmp_path: Path) -> None:
    shutil.rmtree(maildir / "cur")
    (maildir / "cur").symlink_to(tmp_path / "outside")
    with pytest.raises(SourceRefused, match="no Maildir"):
        await items(MAILBOX, opening(MAILBOX, tmp_path, {"path": str(maildir), "format": "maildir"}))


@pytest.fixture
def repositories(tmp_path: Path) -> tuple[Path, Path]:
    """A repository that another user keeps elsewhere, and one below the allowed folder."""
    (tmp_path / "allowed").mkdir()
    made = []
    for folder in (tmp_path / "bob", tmp_path / "allowed" / "alice"):
        repository = GitRepository.make(folder)
        (folder / "text.md").write_text(f"of {folder.name}")
        repository.commit()
        made.append(folder)
    return made[0], made[1]


async def test_a_repository_below_an_allowed_folder_is_read(repositories: tuple[Path, Path], tmp_path: Path) -> None:
    assert await items(GIT, opening(GIT, tmp_path, {"url": str(repositories[1])})) == {"text.md": b"of alice"}
    beside = tmp_path / "allowed" / "tree"  # as `git worktree add` makes one
    beside.mkdir()
    (beside / ".git").write_text(f"gitdir: {repositories[1]}/.git\n")
    assert await items(GIT, opening(GIT, tmp_path, {"url": str(beside)})) == {"text.md": b"of alice"}


@pytest.mark.parametrize(
    "way", ["gitdir", "commondir", "alternates", "objects", "pack", "link", "refs", "pipe", "loop"]
)
@pytest.mark.timeout(20)
async def test_a_repository_leads_to_no_other_one(way: str, repositories: tuple[Path, Path], tmp_path: Path) -> None:
    bob, alice = (one / ".git" for one in repositories)
    match way:
        case "gitdir":
            shutil.rmtree(alice)
            alice.write_text(f"gitdir: {bob}\n")
        case "commondir":
            (alice / "commondir").write_text(f"{bob}\n")
        case "alternates":
            (alice / "objects" / "info").mkdir(exist_ok=True)
            (alice / "objects" / "info" / "alternates").write_text(f"# bob\n{bob}/objects\n")
        case "objects" | "refs":
            shutil.rmtree(alice / way)
            (alice / way).symlink_to(bob / way)
        case "pack":
            (alice / "objects" / "pack").mkdir(exist_ok=True)
            (alice / "objects" / "pack" / "a.pack").symlink_to(bob / "HEAD")
        case "link":
            shutil.rmtree(alice)
            alice.symlink_to(bob)
        case "pipe":
            (alice / "HEAD").unlink()
            os.mkfifo(alice / "HEAD")
        case "loop":
            (alice / "objects" / "ab").symlink_to(alice / "objects" / "ab")
    with pytest.raises((SourceRefused, SourceUnavailable), match="no Git" if way == "loop" else "outside"):
        await items(GIT, opening(GIT, tmp_path, {"url": str(repositories[1])}))


@pytest.mark.timeout(20)
async def test_a_repositorys_configuration_includes_no_files(repositories: tuple[Path, Path], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (repositories[1] / ".git" / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {pipe}\n")
    assert await items(GIT, opening(GIT, tmp_path, {"url": str(repositories[1])})) == {"text.md": b"of alice"}


def hostile_repository(folder: Path, levels: int, width: int) -> None:
    """Make a repository whose folders each hold the next one `width` times: few objects, any number of files."""
    repository = Repo.init_bare(str(folder), mkdir=True)
    store = repository.object_store
    blob = Blob.from_string(b"text")
    store.add_object(blob)
    inner, mode = blob.id, 0o100644
    for _ in range(levels):
        tree = Tree()
        for number in range(width):
            tree.add(b"%d.md" % number, mode, inner)
        store.add_object(tree)
        inner, mode = tree.id, 0o040000
    repository.get_worktree().commit(message=b"x", tree=inner, author=b"a <a@b>", committer=b"a <a@b>", ref=b"HEAD")
    repository.close()


@pytest.mark.parametrize(("levels", "width", "said"), [(12, 10, "more than 1000 files"), (600, 1, "deeper than")])
@pytest.mark.timeout(30)
async def test_a_repository_that_unfolds_without_end_is_left(
    levels: int, width: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_repository, "MOST_ENTRIES", 1000)
    (tmp_path / "allowed").mkdir()
    hostile_repository(tmp_path / "allowed" / "bomb", levels, width)
    connection = GIT.open(opening(GIT, tmp_path, {"url": str(tmp_path / "allowed" / "bomb")}))
    pages = await listing(connection, Memory())
    await connection.close()
    assert said in pages[-1].partial
    assert sum(len(page.items) for page in pages) <= 1001

"""Every kind of source that Footnote brings passes the conformance suite; and what is particular to each."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import obstore
import pytest
from footnote_edge.sources.kinds import BUCKET, GIT
from footnote_edge.sources.kinds.bucket_objects import BucketConnection
from footnote_edge.sources.kinds.feed import FEED
from footnote_edge.sources.kinds.folder import FOLDER
from footnote_edge.sources.kinds.mailbox import MAILBOX
from footnote_edge.sources.kinds.web import WEB
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import ItemFailed, ItemGone, Opening, SourceKind, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import check as check_settings
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import SUITE, Memory, Origin, content, listed, listing
from footnote_edge.sources.transfer import digest
from footnote_kit.errors import InvalidArgument
from support.source_servers import GitRepository, git_server, site

LOOPBACK = ("127.0.0.1",)


class Base:
    """An origin in a folder of the test."""

    kind: SourceKind

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = {}
        self.secrets: dict[str, Any] = {}

    def opening(self) -> Opening:
        policy = Policy.of((), LOOPBACK, (str(self.folder),), timeout=10.0)
        return Opening(
            parsed(self.kind.settings, self.settings), parsed(self.kind.secrets, self.secrets), "default",
            self.folder / "cache", policy,
        )  # fmt: skip


class FolderOrigin(Base):
    kind = FOLDER

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.root = folder / "root"
        self.root.mkdir()
        self.settings = {"path": str(self.root)}

    async def put(self, name: str, text: str) -> None:
        (self.root / f"{name}.txt").write_text(text)

    async def remove(self, name: str) -> None:
        (self.root / f"{name}.txt").unlink()

    async def vanish(self) -> None:
        shutil.rmtree(self.root)


class MailboxOrigin(Base):
    kind = MAILBOX

    def __init__(self, folder: Path, format: str) -> None:
        super().__init__(folder)
        self.path = folder / "box"
        self.format = format
        self.mails: dict[str, str] = {}
        self.settings = {"path": str(self.path), "format": format}
        if format == "maildir":
            for part in ("cur", "new", "tmp"):
                (self.path / part).mkdir(parents=True)

    async def put(self, name: str, text: str) -> None:
        self.mails[name] = (
            f"From: {name}@example.org\nSubject: About {name}\nMessage-ID: <{name}.{len(text)}@example.org>\n\n{text}\n"
        )
        self.write()

    async def remove(self, name: str) -> None:
        del self.mails[name]
        self.write()

    def write(self) -> None:
        if self.format == "mbox":
            self.path.write_text("".join(f"From a@b Thu Nov 26 08:00:00 2026\n{one}\n" for one in self.mails.values()))
            return
        for old in (self.path / "cur").iterdir():
            old.unlink()
        for name, mail in self.mails.items():
            (self.path / "cur" / f"{name}.host:2,S").write_text(mail)

    async def vanish(self) -> None:
        shutil.rmtree(self.path) if self.path.is_dir() else self.path.unlink()


class GitOrigin(Base):
    kind = GIT

    def __init__(self, folder: Path, stack: ExitStack, *, remote: bool) -> None:
        super().__init__(folder)
        self.repository = GitRepository.make(folder / "repo")
        self.repository.commit()
        self.stack = stack
        if remote:
            stack.enter_context(git_server(self.repository))
            self.settings = {"url": self.repository.url + "/.git"}
        else:
            self.settings = {"url": str(self.repository.folder)}

    async def put(self, name: str, text: str) -> None:
        (self.repository.folder / f"{name}.txt").write_text(text)
        self.repository.commit()

    async def remove(self, name: str) -> None:
        (self.repository.folder / f"{name}.txt").unlink()
        self.repository.commit()

    async def vanish(self) -> None:
        shutil.rmtree(self.repository.folder)


class BucketOrigin(Base):
    kind = BUCKET

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.store: Any = obstore.store.MemoryStore()
        self.settings = {"provider": "s3", "bucket": "docs", "prefix": "kept"}
        monkeypatch.setattr(BucketConnection, "_open", lambda _: self.store)

    async def put(self, name: str, text: str) -> None:
        await self.store.put_async(f"kept/{name}.txt", text.encode())

    async def remove(self, name: str) -> None:
        await self.store.delete_async(f"kept/{name}.txt")

    async def vanish(self) -> None:
        self.store = obstore.store.S3Store(
            "docs", region="us-east-1", endpoint="http://127.0.0.1:9", skip_signature=True,
            client_options={"timeout": "1s", "allow_http": True}, retry_config={"max_retries": 0},
        )  # fmt: skip


class WebOrigin(Base):
    kind = WEB

    def __init__(self, folder: Path, stack: ExitStack, mode: str) -> None:
        super().__init__(folder)
        self.site = stack.enter_context(site())
        self.pages: dict[str, str] = {}
        self.settings = {"url": f"{self.site.base}/docs/", "mode": mode, "delay": 0}
        self.write()

    async def put(self, name: str, text: str) -> None:
        self.pages[name] = text
        self.site.page(f"/docs/{name}", f"<h1>{name}</h1><p>{text} And more words that a page has.</p>")
        self.write()

    async def remove(self, name: str) -> None:
        del self.pages[name], self.site.replies[f"/docs/{name}"]
        self.write()

    def write(self) -> None:
        links = "".join(f"<a href={name}>{name}</a>" for name in self.pages)
        self.site.page("/docs/", links, head="<meta name=robots content=noindex>")
        urls = "".join(f"<url><loc>{self.site.base}/docs/{name}</loc></url>" for name in self.pages)
        self.site.put("/sitemap.xml", f"<urlset>{urls}</urlset>".encode(), "application/xml")

    async def vanish(self) -> None:
        self.site.down = True


class FeedOrigin(Base):
    kind = FEED

    def __init__(self, folder: Path, stack: ExitStack, text: str) -> None:
        super().__init__(folder)
        self.site = stack.enter_context(site())
        self.entries: dict[str, str] = {}
        self.settings = {"url": f"{self.site.base}/feed.xml", "delay": 0, "text": text, "keep": False}
        self.write()

    async def put(self, name: str, text: str) -> None:
        self.entries[name] = text
        self.site.page(f"/{name}", f"<p>{text} And more words that a page has, since it is longer.</p>")
        self.write()

    async def remove(self, name: str) -> None:
        del self.entries[name], self.site.replies[f"/{name}"]
        self.write()

    def write(self) -> None:
        items = "".join(
            f"<item><guid>{name}</guid><link>{self.site.base}/{name}</link><title>{name}</title>"
            f"<description>&lt;p&gt;{text}&lt;/p&gt;</description></item>"
            for name, text in self.entries.items()
        )
        xml = f"<rss version='2.0'><channel><title>news</title>{items}</channel></rss>"
        self.site.put("/feed.xml", xml.encode(), "application/rss+xml")

    async def vanish(self) -> None:
        self.site.down = True


KINDS = ("folder", "mbox", "maildir", "git", "git-http", "bucket", "web-site", "web-sitemap", "feed", "feed-page")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What an origin opens; closed after the test."""
    with ExitStack() as opened:
        yield opened


@pytest.fixture(params=KINDS)
async def origin(
    request: pytest.FixtureRequest, tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Origin]:
    """An origin of each kind that Footnote brings."""
    match request.param:
        case "folder":
            yield FolderOrigin(tmp_path)
        case "mbox" | "maildir":
            yield MailboxOrigin(tmp_path, request.param)
        case "git" | "git-http":
            yield GitOrigin(tmp_path, stack, remote=request.param == "git-http")
        case "bucket":
            yield BucketOrigin(tmp_path, monkeypatch)
        case "web-site" | "web-sitemap":
            yield WebOrigin(tmp_path, stack, request.param.removeprefix("web-"))
        case "feed" | "feed-page":
            yield FeedOrigin(tmp_path, stack, "entry" if request.param == "feed" else "page")


@pytest.mark.parametrize("check", SUITE, ids=lambda check: check.__name__)
@pytest.mark.slow
async def test_conformance(check: Any, origin: Origin) -> None:
    await check(origin)


async def test_git_fetches_only_what_changed(tmp_path: Path, stack: ExitStack) -> None:
    origin = GitOrigin(tmp_path, stack, remote=True)
    for number in range(200):
        (origin.repository.folder / f"{number}.txt").write_text(f"{number} " + os.urandom(500).hex())
    first_commit = origin.repository.commit()
    memory = Memory()
    first = await listed(origin, memory)
    assert len(first) == 200
    whole, origin.repository.bytes_sent = origin.repository.bytes_sent, 0
    (origin.repository.folder / "7.txt").write_text("changed")
    second_commit = origin.repository.commit()
    second = await listed(origin, memory)
    assert origin.repository.bytes_sent < whole / 10
    assert [name for name in second if second[name].version != first[name].version] == ["7.txt"]
    assert second["7.txt"].address.endswith(f"#{second_commit}:7.txt")
    assert second["8.txt"].address.endswith(f"#{first_commit}:8.txt")
    origin.repository.bytes_sent = 0
    await listed(origin, memory)
    assert origin.repository.bytes_sent < 2000
    shutil.rmtree(tmp_path / "cache")  # another replica, or a new disk
    connection = origin.kind.open(origin.opening())
    assert await content(connection, second["7.txt"]) == b"changed"
    await connection.close()


async def test_git_takes_branches_patterns_and_secrets(tmp_path: Path, stack: ExitStack) -> None:
    origin = GitOrigin(tmp_path, stack, remote=True)
    (origin.repository.folder / "docs").mkdir()
    (origin.repository.folder / "docs" / "a.md").write_text("text")
    (origin.repository.folder / "b.txt").write_text("text")
    (origin.repository.folder / "link").symlink_to("/etc/passwd")
    origin.repository.commit()
    assert set(await listed(origin)) == {"docs/a.md", "b.txt"}
    origin.settings |= {"include": ["docs/*"]}
    assert set(await listed(origin)) == {"docs/a.md"}
    origin.settings |= {"branch": "nothing"}
    with pytest.raises(SourceRefused, match="no branch 'nothing'"):
        await listed(origin)
    origin.settings |= {"branch": "main"}
    origin.repository.password = "x"
    with pytest.raises(SourceRefused, match="secrets"):
        await listed(origin)
    origin.secrets = {"password": "secret"}
    assert set(await listed(origin)) == {"docs/a.md"}


@pytest.mark.parametrize("url", ["https://user:token@git.example.org/a.git", "https://token@git.example.org/a.git"])
def test_git_takes_no_secret_in_its_address(url: str) -> None:
    with pytest.raises(InvalidArgument, match="give them as secrets"):
        check_settings(GIT, {"url": url}, {})
    for fine in ("https://git.example.org/a@b.git", "/srv/git/a@b.git"):
        check_settings(GIT, {"url": fine}, {})


async def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    origin = FolderOrigin(tmp_path)
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    await origin.put("a", "text")
    (origin.root / "sub").mkdir()
    (origin.root / "sub" / "b.txt").write_text("inside")
    items = await listed(origin)
    connection = FOLDER.open(origin.opening())
    shutil.rmtree(origin.root / "sub")
    (origin.root / "sub").symlink_to(tmp_path)  # put there after the listing
    os.link(secret, origin.root / "hard.txt")
    from dataclasses import replace

    for path in ("sub/secret.txt", "../secret.txt", "sub/../../secret.txt", "/etc/passwd", "sub//secret.txt", "."):
        with pytest.raises((ItemFailed, ItemGone)):
            await content(connection, replace(items["a.txt"], id=path))
    os.mkfifo(origin.root / "pipe")
    with pytest.raises(ItemFailed):
        await content(connection, replace(items["a.txt"], id="pipe"))


async def test_an_empty_folder_in_the_place_of_another_is_away(tmp_path: Path) -> None:
    """As a mount point whose mount is missing; a folder that was emptied is the same one as before."""
    origin = FolderOrigin(tmp_path)
    await origin.put("a", "text")
    assert set(await listed(origin)) == {"a.txt"}
    mounted = origin.root.rename(tmp_path / "mounted")
    origin.root.mkdir()
    with pytest.raises(SourceUnavailable, match="empty"):
        await listed(origin)
    (origin.root / ".keep").touch()
    assert await listed(origin) == {}
    shutil.rmtree(origin.root)
    mounted.rename(origin.root)
    assert set(await listed(origin)) == {"a.txt"}
    await origin.remove("a")
    assert await listed(origin) == {}


async def test_an_empty_folder_of_a_new_source_is_in_step_and_stays_so(tmp_path: Path) -> None:
    origin = FolderOrigin(tmp_path)
    new = replace(origin.opening(), was_in_step=False)
    assert not [item for page in await listing(FOLDER.open(new), Memory()) for item in page.items]
    assert await listed(origin) == {}
    await origin.put("a", "text")
    assert set(await listed(origin)) == {"a.txt"}


async def test_mails_with_one_message_id_keep_their_ids_when_one_is_read(tmp_path: Path) -> None:
    origin = MailboxOrigin(tmp_path, "maildir")
    for place, text in (("new/a.host", "One."), ("cur/b.host:2,S", "Two.")):
        (origin.path / place).write_text(f"Subject: About\nMessage-ID: <same@example.org>\n\n{text}\n")
    before = {id: item.version for id, item in (await listed(origin)).items()}
    (origin.path / "new" / "a.host").rename(origin.path / "cur" / "a.host:2,S")
    assert {id: item.version for id, item in (await listed(origin)).items()} == before
    first = (origin.path / "cur" / "a.host:2,S").read_bytes()
    assert before["<same@example.org>"] == digest(first), "by their files' names, whatever the folder lists first"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
async def test_an_unreadable_folder_makes_a_partial_listing(tmp_path: Path) -> None:
    origin = FolderOrigin(tmp_path)
    (origin.root / "shut").mkdir(mode=0)
    pages = await listing(FOLDER.open(origin.opening()), Memory())
    assert "shut" in "".join(page.partial for page in pages)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"endpoint": "http://169.254.169.254"}, "169.254.169.254"),
        ({"endpoint": "http://127.0.0.1:9000", "bucket": "docs"}, ""),
        ({"endpoint": "file:///etc"}, "endpoint"),
    ],
)
async def test_a_bucket_reaches_only_servers_that_the_operator_names(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    origin = BucketOrigin.__new__(BucketOrigin)
    Base.__init__(origin, tmp_path)
    origin.settings = {"provider": "s3", "bucket": "docs", **settings}
    connection: Any = BUCKET.open(origin.opening())
    if not said:
        connection._open()
        return
    with pytest.raises(SourceRefused, match=said):
        await listing(connection, Memory())


async def test_a_bucket_never_uses_the_deployments_own_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIADEPLOYMENT", "AWS_SECRET_ACCESS_KEY": "deployment", "AWS_SESSION_TOKEN": "session",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with site() as server:
        monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:1")
        for secrets in ({}, {"access_key_id": "MINE", "secret_access_key": "mine"}):
            origin = BucketOrigin.__new__(BucketOrigin)
            Base.__init__(origin, tmp_path)
            origin.settings = {"provider": "s3", "bucket": "docs", "endpoint": server.base}
            origin.secrets = secrets
            with pytest.raises((SourceUnavailable, SourceRefused)):
                await listing(BUCKET.open(origin.opening()), Memory())
        assert len(server.asked) == 2
        assert not any("DEPLOYMENT" in str(headers) or "session" in str(headers) for _, headers in server.asked)
        assert "MINE" in server.asked[1][1]["authorization"]
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/somewhere")
    origin.settings, origin.secrets = {"provider": "gcs", "bucket": "docs"}, {}
    with pytest.raises(SourceRefused, match="GOOGLE_APPLICATION_CREDENTIALS"):
        await listing(BUCKET.open(origin.opening()), Memory())

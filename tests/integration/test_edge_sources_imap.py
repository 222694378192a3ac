"""Mailboxes of a real mail server, by IMAP over TLS."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote_edge.sources.kinds.imap import IMAP
from footnote_edge.sources.kinds.imap_client import quoted_folder
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Item, ItemGone, Opening, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import SUITE, Check, Memory, content, listed, listing
from support.mail_server import PASSWORD, USER, MailServer, mail_server, why_not

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    # Dovecot ends its children by itself.
    pytest.mark.timeout(120),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    """A real mail server over TLS, whose authority is trusted."""
    with mail_server() as running:
        monkeypatch.setenv("SSL_CERT_FILE", str(running.authority))
        yield running


class ImapOrigin:
    """Mails of the server, each with a text."""

    kind = IMAP

    def __init__(self, server: MailServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.port = server.port
        self.password = PASSWORD
        self.mailbox = "INBOX"
        self.private = ("127.0.0.1",)
        self.item_bytes = 100_000

    def opening(self) -> Opening:
        settings = {"host": "127.0.0.1", "port": self.port, "username": USER, "folder": self.mailbox}
        policy = Policy.of((), self.private, (), timeout=10.0, item_bytes=self.item_bytes)
        secrets = parsed(IMAP.secrets, {"password": self.password})
        return Opening(parsed(IMAP.settings, settings), secrets, "default", self.folder / "cache", policy)

    async def put(self, name: str, text: str) -> None:
        await self.remove(name)
        head = f"From: ann@example.org\nSubject: About {name}\nMessage-ID: <{name}@example.org>\n"
        await asyncio.to_thread(self.server.put, name, f"{head}\n{text}\n".encode())

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(self.server.remove, name)

    async def vanish(self) -> None:
        self.port = 1


@pytest.fixture
def origin(server: MailServer, tmp_path: Path) -> ImapOrigin:
    """A mailbox on that server, as the conformance suite changes it."""
    return ImapOrigin(server, tmp_path)


@pytest.mark.parametrize("check", SUITE, ids=lambda check: check.__name__)
async def test_the_kind_keeps_the_promises_of_the_port(check: Check, origin: ImapOrigin) -> None:
    await check(origin)


async def fetched(origin: ImapOrigin, item: Item) -> bytes:
    connection = IMAP.open(origin.opening())
    try:
        return await content(connection, item)
    finally:
        await connection.close()


async def test_a_mail_is_read_with_its_headers(origin: ImapOrigin) -> None:
    await origin.put("grüße", "The text.")
    (item,) = (await listed(origin)).values()
    assert (item.name, item.address) == ("About grüße.eml", "mid:grüße@example.org")
    assert item.permissions is not None
    assert item.permissions.owner == "ann@example.org"
    body = await fetched(origin, item)
    assert b"The text." in body
    assert item.size == len(body)


async def test_known_mails_are_not_asked_for_again(origin: ImapOrigin, monkeypatch: pytest.MonkeyPatch) -> None:
    from footnote_edge.sources.kinds import imap_client

    for number in range(5):
        await origin.put(f"m{number}", "A text.")
    asked: list[int] = []
    plain = imap_client.Folder.heads
    monkeypatch.setattr(
        imap_client.Folder, "heads", lambda self, numbers: asked.extend(numbers) or plain(self, numbers)
    )
    memory = Memory()
    first = await listed(origin, memory)
    assert len(asked) == 5
    await origin.put("m5", "Another.")
    await origin.remove("m0")
    second = await listed(origin, memory)
    assert len(asked) == 6
    assert len(set(first) & set(second)) == 4
    assert all(second[item] == first[item] for item in set(first) & set(second))


async def test_another_uidvalidity_makes_every_mail_another_item(origin: ImapOrigin) -> None:
    await origin.put("one", "A text.")
    memory = Memory()
    (before,) = (await listed(origin, memory)).values()
    await asyncio.to_thread(origin.server.renumber)
    (after,) = (await listed(origin, memory)).values()
    assert after.id != before.id
    with pytest.raises(ItemGone):
        await fetched(origin, before)
    assert b"A text." in await fetched(origin, after)


async def test_a_listing_goes_on_behind_its_cursor(origin: ImapOrigin) -> None:
    for number in range(4):
        await origin.put(f"m{number}", "A text.")
    ids = sorted(await listed(origin), key=lambda one: int(one.rpartition("/")[2]))
    connection = IMAP.open(origin.opening())
    pages = await listing(connection, Memory(), ids[1].replace("/", ":"))
    await connection.close()
    assert [item.id for page in pages for item in page.items] == ids[2:]


async def test_what_does_not_open_is_refused_without_a_secret_in_words(origin: ImapOrigin) -> None:
    origin.password = "wrong-of-the-test"
    with pytest.raises(SourceRefused, match="refuses the user name or password") as caught:
        await listed(origin)
    assert "wrong-of-the-test" not in str(caught.value)
    origin.password, origin.mailbox = PASSWORD, "Nowhere"
    with pytest.raises(SourceRefused, match="no folder"):
        await listed(origin)


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    origin: ImapOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(SourceRefused, match="certificate"):
        await listed(origin)


async def test_a_private_mail_server_is_not_reached(origin: ImapOrigin) -> None:
    origin.private = ()
    with pytest.raises(SourceRefused, match="not public"):
        await listed(origin)


async def test_a_mail_that_is_too_long_is_left_out(origin: ImapOrigin) -> None:
    origin.item_bytes = 1024
    await origin.put("long", "x" * 70 + "\n" + ("y" * 70 + "\n") * 100)
    (item,) = (await listed(origin)).values()
    assert item.skip is not None
    assert item.skip.reason == "TOO_LARGE"


async def test_a_server_that_sends_without_end_is_left(origin: ImapOrigin) -> None:
    await origin.put("long", "z" * 200)
    (item,) = (await listed(origin)).values()
    origin.item_bytes = -1024 * 1024 + 100  # with what is allowed beside it: less than the mail
    with pytest.raises(SourceUnavailable):
        await fetched(origin, item)


@pytest.mark.parametrize(
    ("folder", "quoted"),
    [
        ("INBOX", '"INBOX"'),
        ("Entwürfe", '"Entw&APw-rfe"'),
        ("a&b", '"a&-b"'),
        ('q"\\', '"q\\"\\\\"'),
        ("日本", '"&ZeVnLA-"'),
    ],
)
def test_names_of_folders_are_written_as_the_protocol_wants_them(folder: str, quoted: str) -> None:
    assert quoted_folder(folder) == quoted

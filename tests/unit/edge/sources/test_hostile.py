"""What strangers may try: addresses that lead inside, and answers that are meant to harm."""

import asyncio
import gc
import gzip
import time
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from footnote_edge.sources.kinds.feed import FEED
from footnote_edge.sources.kinds.mailbox import header_text
from footnote_edge.sources.kinds.web import WEB
from footnote_edge.sources.kinds.web_pages import _charset
from footnote_edge.sources.net.addresses import AddressRefused, is_public, permitted
from footnote_edge.sources.net.client import Client, Head, checked, normal
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import ItemFailed, Opening, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import check, parsed
from footnote_edge.sources.testing import Memory, listing
from footnote_kit.errors import InvalidArgument
from support.source_servers import Reply, Site, site

INSIDE = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
    "127.255.255.254", "localhost", "0", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1",
    "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.170.2", "100.64.0.1",
    "192.0.0.192", "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[2001:0:7f00:1::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]",
    "[ff02::1]", "[2001:db8::1]", "①②⑦.⓪.⓪.①", "127。0。0。1", "１２７.0.0.1",
]  # fmt: skip
NO_ADDRESSES = [
    "file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "javascript:alert(1)", "data:text/html,x",
    "http://", "http:///x", "//example.org", "http://user@example.org/", "http://user:pw@127.0.0.1@example.org/",
    "http://example.org:0/", "http://example.org:99999/", "http://exa mple.org/", "http://example.org/\r\nHost: x",
    "http://example.org\\@127.0.0.1/", "http://[::1", "http://example.org/" + "x" * 3000, "unix:///var/run/x.sock",
]  # fmt: skip
PORTS = [22, 25, 53, 110, 143, 389, 445, 587, 873]


@pytest.mark.parametrize("host", INSIDE)
async def test_no_notation_leads_inside(host: str) -> None:
    client = Client(Policy(timeout=2.0))
    url = normal(f"http://{host}/latest/meta-data/")
    try:
        with pytest.raises((ItemFailed, SourceUnavailable)) as caught:
            async with client.open(url):
                pass
    finally:
        await client.close()
    # Not every resolver reads every notation: what it does not read, it does not find.
    assert "public" in str(caught.value) or "not found" in str(caught.value) or "valid" in str(caught.value)
    written = urlsplit(url).hostname or host
    assert "127.0.0.1" not in str(caught.value).replace(written, "")


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(ItemFailed) as caught:
        checked(url)
    assert caught.value.reason == "ADDRESS"


def resolving(*answers: Sequence[str]) -> Any:
    waiting = list(answers)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return resolve


async def test_a_name_that_changes_its_address_is_resolved_once() -> None:
    """Rebinding: the address that was checked is the one that is connected to."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with site() as web:
        web.put("/", b"once")
        client = Client(Policy.of((), ("127.0.0.1",), ()), rebinding)
        port = web.base.rpartition(":")[2]
        async with client.open(f"http://rebinding.example:{port}/") as answer:
            assert await answer.read(100) == b"once"
        assert asked == ["rebinding.example"]
        await client.close()
        client = Client(Policy.of((), ("127.0.0.1",), ()), rebinding)
        with pytest.raises(ItemFailed, match="not public"):
            async with client.open(f"http://rebinding.example:{port}/"):
                pass
        await client.close()


@pytest.mark.parametrize("found", [["93.184.215.14", "127.0.0.1"], ["::1", "93.184.215.14"], ["nonsense"]])
async def test_one_private_address_among_several_is_enough(found: list[str]) -> None:
    with pytest.raises(AddressRefused):
        await permitted("both.example", 443, Policy(), resolving(found))


@pytest.mark.parametrize("port", PORTS)
async def test_ports_of_other_services_are_refused(port: int) -> None:
    with pytest.raises(AddressRefused, match="is not allowed for this protocol"):
        await permitted("example.org", port, Policy(), resolving(["93.184.215.14"]))


async def test_what_the_operator_allows_counts() -> None:
    public = resolving(["93.184.215.14"])
    listed = Policy.of(("docs.example.org", "*.example.net"), (), ())
    for host in ("docs.example.org", "a.example.net", "a.b.example.net"):
        assert await permitted(host, 443, listed, public)
    for host in ("example.org", "evil-example.net", "docs.example.org.evil.com", "example.net"):
        with pytest.raises(AddressRefused, match="operator"):
            await permitted(host, 443, listed, public)
    private = Policy.of((), ("wiki.corp", "10.1.0.0/16", "box.corp:8443"), ())
    assert await permitted("wiki.corp", 443, private, resolving(["192.168.3.4"]))
    assert await permitted("other.corp", 443, private, resolving(["10.1.2.3"]))
    assert await permitted("box.corp", 8443, private, resolving(["10.9.9.9"]))
    for host, port, address in (("other.corp", 443, "10.2.2.3"), ("box.corp", 443, "10.9.9.9"), ("x", 443, "::1")):
        with pytest.raises(AddressRefused):
            await permitted(host, port, private, resolving([address]))
    for wrong in ("10.0.0.0/99", "*.corp", ""):
        with pytest.raises(ValueError, match="host"):
            Policy.of((), (wrong,), ())


def test_public_addresses_are_public() -> None:
    import ipaddress

    for text in ("93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2002:808:808::1"):
        assert is_public(ipaddress.ip_address(text)), text


# Answers.


def opening(kind: Any, folder: Path, url: str, **more: Any) -> Opening:
    settings = {"url": url, "delay": 0, **more}
    policy = Policy.of((), ("127.0.0.1",), (), timeout=1.5, item_bytes=1_000_000)
    return Opening(parsed(kind.settings, settings), parsed(kind.secrets, {}), "default", folder, policy)


def endless(head: bytes, piece: bytes, seconds: float = 5.0) -> Reply:
    def write(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n" + head + b"\r\n")
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                handler.wfile.write(piece)
        except OSError:
            pass
        handler.close_connection = True

    return Reply(raw=write)


def silent(handler: Any) -> None:
    time.sleep(3)
    handler.close_connection = True


def half(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nhalf")
    handler.close_connection = True


@cache
def bomb(levels: int = 1) -> bytes:
    """Return fifty megabytes, compressed; made when a test asks, since each worker that collects would make them."""
    data = b"0" * 50_000_000
    for _ in range(levels):
        data = gzip.compress(data)
    return data


def entities() -> bytes:
    lines = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(10))
    head = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "x">{lines}]>'
    return f"{head}<urlset><url><loc>&e10;</loc></url></urlset>".encode()


def html(head: dict[str, str], body: bytes) -> Reply:
    return Reply(body, headers={"content-type": "text/html", **head})


FILE = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url></urlset>'
PAGES: dict[str, Reply | Callable[[], Reply]] = {
    "gzip bomb": lambda: html({"content-encoding": "gzip"}, bomb()),
    "double gzip bomb": lambda: html({"content-encoding": "gzip"}, bomb(2)),
    "deflate bomb": lambda: html({"content-encoding": "deflate"}, zlib.compress(b"0" * 50_000_000)),
    "broken gzip": html({"content-encoding": "gzip"}, b"\x1f\x8bnot"),
    "brotli": html({"content-encoding": "br"}, b"x"),
    "endless page": endless(b"", b"<p>more and more</p>" * 100),
    "endless headers": endless(b"", b"X: " + b"y" * 1000 + b"\r\n"),
    "one long line": html({}, b"x" * 10_000_000),
    "deep nesting": html({}, b"<div>" * 150_000),
    "many attributes": html({}, b"<p " + b"a=b " * 200_000 + b">"),
    "silence": Reply(raw=silent),
    "half an answer": Reply(raw=half),
    "no HTTP": Reply(raw=lambda handler: handler.wfile.write(b"\x00\x01garbage\r\n\r\n")),
    "a circle": Reply(status=302, headers={"location": "/docs/"}),
    "loopback": Reply(status=302, headers={"location": "http://127.0.0.2:1/"}),
    "metadata": Reply(status=302, headers={"location": "http://169.254.169.254/latest/"}),
    "a file": Reply(status=302, headers={"location": "file:///etc/passwd"}),
    "nul bytes": html({}, b"<p>\x00\x00\x00</p>" * 1000),
    "wrong charset": Reply(b"<main>" + b"\xff\xfe" * 500, headers={"content-type": "text/html; charset=nonsense"}),
}


@pytest.fixture(scope="module")
def web() -> Any:
    """A site on loopback."""
    with site() as served:
        yield served


SLOW = ("deep nesting", "deep")
"""Those that the reading process is ended for."""


def cases(corpus: dict[str, Any]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.full] if name in SLOW else []) for name in corpus]


@pytest.mark.parametrize("name", cases(PAGES))
async def test_a_hostile_page_harms_nobody(web: Site, tmp_path: Path, name: str) -> None:
    reply = PAGES[name]
    web.replies["/docs/"] = reply if isinstance(reply, Reply) else reply()
    connection: Any = WEB.open(opening(WEB, tmp_path, f"{web.base}/docs/"))
    said, bodies = "", [b""]
    try:
        async with asyncio.timeout(150):  # a reading is ended by its processor time
            pages = await listing(connection, Memory())
            bodies = [item.body or b"" for page in pages for item in page.items]
    except (SourceUnavailable, SourceRefused) as error:
        said = f"refused: {error}"
    finally:
        await connection.close()
    assert sum(map(len, bodies)) <= 1_000_000
    assert said != "refused: "
    assert "/etc" not in said


async def test_redirects_that_never_end_are_left(web: Site, tmp_path: Path) -> None:
    for number in range(20):
        web.replies[f"/r{number}"] = Reply(status=302, headers={"location": f"/r{number + 1}"})
    client = Client(Policy.of((), ("127.0.0.1",), ()))
    with pytest.raises(ItemFailed, match="redirects more than"):
        async with client.follow(f"{web.base}/r0"):
            pass
    assert client.requests == 6
    await client.close()


async def test_credentials_do_not_follow_to_another_host(web: Site) -> None:
    with site() as other:
        web.replies["/away"] = Reply(status=302, headers={"location": f"{other.base}/there"})
        other.put("/there", b"x")
        client = Client(Policy.of((), ("127.0.0.1",), ()))
        async with client.follow(f"{web.base}/away", {"authorization": "Basic secret"}) as answer:
            assert answer.head.status == 200
        assert "authorization" not in other.asked[-1][1]
        await client.close()


MAPS: dict[str, bytes | Callable[[], bytes]] = {
    "entities": entities(),
    "an outer file": FILE,
    "utf-16 entities": entities().decode().encode("utf-16"),
    "broken": b"<urlset><url>",
    "no xml": b"\x00" * 1000,
    "gzip bomb": bomb,
    "deep": b"<a>" * 100_000,
}


@pytest.mark.parametrize("name", cases(MAPS))
async def test_a_hostile_sitemap_or_feed_is_refused(web: Site, tmp_path: Path, name: str) -> None:
    body = MAPS[name]
    web.put("/sitemap.xml", body if isinstance(body, bytes) else body(), "application/xml")
    for kind, more in ((WEB, {"mode": "sitemap"}), (FEED, {})):
        connection: Any = kind.open(opening(kind, tmp_path, f"{web.base}/sitemap.xml", **more))
        try:
            with pytest.raises((SourceUnavailable, SourceRefused)):
                await listing(connection, Memory())
        finally:
            await connection.close()


@pytest.mark.full
async def test_endless_sitemaps_are_left(web: Site, tmp_path: Path) -> None:
    asked = 0

    class Endless(dict[str, Reply]):
        def get(self, key: str, default: Any = None) -> Any:
            nonlocal asked
            if not key.startswith("/map"):
                return Reply(b"", 404)
            asked += 1
            inner = "".join(f"<sitemap><loc>{web.base}/map{asked}-{n}</loc></sitemap>" for n in range(50))
            return Reply(f"<sitemapindex>{inner}</sitemapindex>".encode(), headers={"content-type": "text/xml"})

    replies, web.replies = web.replies, Endless()
    connection: Any = WEB.open(opening(WEB, tmp_path, f"{web.base}/map.xml", mode="sitemap"))
    pages = await listing(connection, Memory())
    await connection.close()
    web.replies = replies
    assert any(page.partial for page in pages)
    assert asked <= 250


async def test_a_reading_that_never_ends_is_ended(tmp_path: Path) -> None:
    from footnote_edge.sources.reading.reader import Reader

    reader = Reader(seconds=0.05)
    with pytest.raises(ItemFailed, match="too long") as caught:
        await reader.read("page", b"<nav><main>" * 400_000)
    assert caught.value.permanent
    await reader.close()
    reader = Reader()
    assert (await reader.read("page", b"<title>x</title><p>y"))["title"] == "x"
    await reader.close()


async def test_a_busy_machine_leaves_no_page_out_for_good() -> None:
    from footnote_edge.sources.reading.reader import Reader

    reader = Reader(wait=0.0)
    with pytest.raises(ItemFailed, match="busy") as caught:
        await reader.read("page", b"<title>x</title><p>y")
    assert not caught.value.permanent
    await reader.close()


def test_a_long_subject_takes_no_time() -> None:
    """The decoder holds the interpreter: no other call is answered meanwhile."""
    began = time.process_time()
    assert header_text("=?a?q?x" * 15_000).startswith("=?a?q?x")
    assert time.process_time() - began < 0.05


def test_a_long_media_type_takes_no_time() -> None:
    began = time.process_time()
    assert _charset(Head("https://x.example/", 200, {"content-type": 'text/html;"' + ";" * 63_000})) == ""
    assert time.process_time() - began < 0.05
    assert _charset(Head("https://x.example/", 200, {"content-type": "text/html; charset=UTF-16"})) == "UTF-16"


@asynccontextmanager
async def longest_pause(most: float) -> AsyncIterator[None]:
    """Check that the event loop never stands still for long, by the processor time of its own thread.

    Garbage is collected before and after: a collection of what all other tests have made takes a quarter of a second.
    """
    pauses = [0.0]

    async def look() -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.001)
            pauses.append(time.thread_time() - began)

    gc.collect()
    gc.disable()
    looking = asyncio.create_task(look())
    try:
        yield
        await asyncio.sleep(0.01)  # it sees the last one
    finally:
        looking.cancel()
        gc.enable()
    assert max(pauses) < most


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["site", "sitemap"])
async def test_a_page_of_many_links_leaves_the_loop_alone(web: Site, tmp_path: Path, mode: str) -> None:
    """Each link is held against each pattern of the source, and both are chosen by strangers."""
    path, links = "/" + "a" * 100, range(5_000)
    settings: dict[str, Any] = {"mode": mode, "exclude": [f"/{'*a' * 18}*{number}x*" for number in range(100)]}
    if mode == "site":
        web.page(
            "/", "".join(f"<a href={path}{number}>x</a>" for number in links), head="<meta name=robots content=noindex>"
        )
    else:
        named = "".join(f"<url><loc>{web.base}{path}{number}</loc></url>" for number in links)
        web.put("/sitemap.xml", f"<urlset>{named}</urlset>".encode(), "application/xml")
    settings |= {"max_pages": 1, "delay": 0}
    connection = WEB.open(opening(WEB, tmp_path, f"{web.base}/{'' if mode == 'site' else 'sitemap.xml'}", **settings))
    try:
        async with longest_pause(0.05):
            await listing(connection, Memory())
    finally:
        await connection.close()


def test_a_pattern_has_few_stars_unless_an_earlier_version_stored_it() -> None:
    settings = {"url": "https://x.example/", "exclude": ["/" + "*a" * 21]}
    with pytest.raises(InvalidArgument, match=r"exclude.0: must have at most 20 \*\."):
        check(WEB, settings, {})
    check(WEB, settings, {}, stored=True)

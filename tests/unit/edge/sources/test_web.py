"""Web sites as sources: what is asked for, how politely, and what is made of the answers."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpcore2
import pytest
from footnote_edge.sources import robots
from footnote_edge.sources.kinds import web_sitemaps
from footnote_edge.sources.kinds.web import WEB
from footnote_edge.sources.net import client as net_client
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Item, ItemFailed, ItemGone, Opening, Page, SourceRefused, SourceUnavailable
from footnote_edge.sources.reading.pages import MOST_LINKS
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import Memory, content, listing
from support.source_servers import Reply, Site, site


@pytest.fixture
def web() -> Iterator[Site]:
    """A site on loopback."""
    with site() as served:
        yield served


TEXT = "<p>A text that is long enough to count as the main part of a page.</p>"


def opening(web: Site, folder: Path, policy: dict[str, Any] | None = None, **settings: Any) -> Opening:
    values = {"url": f"{web.base}/docs/", "delay": 0, **settings}
    limits = replace(Policy.of((), ("127.0.0.1",), (), timeout=3.0), **(policy or {}))
    return Opening(parsed(WEB.settings, values), parsed(WEB.secrets, {}), "default", folder, limits)


async def pages(web: Site, folder: Path, memory: Memory | None = None, **settings: Any) -> list[Page]:
    connection = WEB.open(opening(web, folder, **settings))
    try:
        return await listing(connection, memory or Memory())
    finally:
        await connection.close()


async def items(web: Site, folder: Path, memory: Memory | None = None, **settings: Any) -> dict[str, Item]:
    found = {item.id: item for page in await pages(web, folder, memory, **settings) for item in page.items}
    return {id.removeprefix(web.base): item for id, item in found.items()}


async def test_a_site_is_followed_below_its_beginning(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a><a href=/docs/b#part>b</a><a href=/other>o</a><a href=//else/x>e</a>")
    web.page("/docs/a", f"{TEXT}<a href=deep/c>c</a><a href=./>back</a>")
    web.page("/docs/b", TEXT)
    web.page("/docs/deep/c", TEXT)
    web.page("/other", TEXT)
    found = await items(web, tmp_path)
    assert set(found) == {"/docs/", "/docs/a", "/docs/b", "/docs/deep/c"}
    assert sorted(web.paths()) == sorted(set(web.paths()))
    body = found["/docs/a"].body or b""
    assert b"Menu" not in body
    assert b"Imprint" not in body
    assert b"long enough" in body
    assert found["/docs/a"].address == f"{web.base}/docs/a"
    assert set(await items(web, tmp_path, depth=1)) == {"/docs/", "/docs/a", "/docs/b"}
    assert set(await items(web, tmp_path, include=["*/c"])) == {"/docs/deep/c"}
    assert set(await items(web, tmp_path, exclude=["/docs/a"])) == {"/docs/", "/docs/b"}
    assert set(await items(web, tmp_path, mode="page")) == {"/docs/"}


async def test_what_has_not_changed_is_not_sent_again(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a>")
    web.page("/docs/a", f"{TEXT}<a href=b>b</a>")
    web.page("/docs/b", TEXT)
    memory = Memory()
    first = await items(web, tmp_path, memory)
    web.asked.clear()
    second = await items(web, tmp_path, memory)
    assert {id: item.version for id, item in second.items()} == {id: item.version for id, item in first.items()}
    assert not any(item.body for item in second.values())
    assert all("if-none-match" in headers for path, headers in web.asked if path != "/robots.txt")
    web.page("/docs/b", TEXT, head="<script>new()</script>")  # nothing that is read
    third = await items(web, tmp_path, memory)
    assert third["/docs/b"].version == first["/docs/b"].version
    del web.replies["/docs/b"]
    assert set(await items(web, tmp_path, memory)) == {"/docs/", "/docs/a"}


async def test_one_connection_serves_unchanged_moved_and_missing_pages(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a><a href=old>o</a><a href=missing>m</a><a href=b>b</a>")
    web.page("/docs/a", TEXT)
    web.page("/docs/b", TEXT)
    web.replies["/docs/old"] = Reply(b"moved", 301, {"location": "/docs/a"})
    memory = Memory()
    first = await items(web, tmp_path, memory)
    assert len(web.connections) == 1
    web.connections.clear()
    assert set(await items(web, tmp_path, memory)) == set(first) == {"/docs/", "/docs/a", "/docs/b"}
    assert len(web.connections) == 1


async def test_canonical_addresses_redirects_and_directives(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", "".join(f"<a href={name}>x</a>" for name in ("copy", "moved", "out", "hidden", "shut", "none")))
    web.page("/docs/copy?x=1", TEXT)
    web.page("/docs/copy", TEXT, head="<link rel=canonical href=/docs/real>")
    web.page("/docs/real", TEXT)
    web.replies["/docs/moved"] = Reply(status=301, headers={"location": "/docs/there"})
    web.page("/docs/there", TEXT)
    web.replies["/docs/out"] = Reply(status=302, headers={"location": "/elsewhere"})
    web.page("/elsewhere", TEXT)
    web.page("/docs/hidden", f"{TEXT}<a href=behind>b</a>", head="<meta name=robots content='noindex'>")
    web.page("/docs/behind", TEXT)
    web.page("/docs/shut", f"{TEXT}<a href=beyond>b</a>", head="<meta name=ROBOTS content='nofollow'>")
    web.page("/docs/beyond", TEXT)
    web.page("/docs/none", f"{TEXT}<a href=beyond>b</a>", head="<meta name=robots content='none'>")
    found = await pages(web, tmp_path)
    names = {item.id.removeprefix(web.base) for page in found for item in page.items}
    assert names == {"/docs/", "/docs/real", "/docs/there", "/docs/behind", "/docs/shut"}
    said = " ".join(warning for page in found for warning in page.warnings)
    assert "leads out of the site" in said
    assert "asks not to be indexed" in said


async def test_robots_txt_is_kept_to(web: Site, tmp_path: Path) -> None:
    rules = (
        "User-agent: *\nDisallow: /\n\nUser-agent: FootnoteBot\nDisallow: /docs/private\nAllow: /docs/private/open\n"
        "Disallow: /*.pdf$\n"
    )
    web.put("/robots.txt", rules.encode())
    names = ("private/x", "private/open", "a.pdf", "b")
    web.page("/docs/", TEXT + "".join(f"<a href={name}>x</a>" for name in names))
    for name in names:
        web.page(f"/docs/{name}", TEXT)
    found = await pages(web, tmp_path)
    assert {item.id.removeprefix(web.base) for page in found for item in page.items} == {
        "/docs/", "/docs/private/open", "/docs/b",
    }  # fmt: skip
    assert "/docs/private/x" not in web.paths()
    assert "forbidden by robots.txt" in " ".join(warning for page in found for warning in page.warnings)
    assert all(headers["user-agent"].startswith("FootnoteBot") for _, headers in web.asked)
    assert not any("cookie" in headers for _, headers in web.asked)
    web.put("/robots.txt", b"User-agent: *\nDisallow: /")
    with pytest.raises(SourceRefused, match="robots"):
        await pages(web, tmp_path)
    web.replies["/robots.txt"] = Reply(status=500)
    web.asked.clear()
    with pytest.raises(SourceUnavailable, match="robots"):
        await pages(web, tmp_path)
    assert web.paths() == []


@pytest.mark.parametrize("rule", ["/docs/löhne/", "/docs/l%c3%b6hne/", "/docs/l%C3%B6hne/"])
def test_rules_behind_a_mark_and_beyond_ascii_are_read(rule: str) -> None:
    rules = robots.read(f"\ufeffUser-agent: *\nDisallow: {rule}", "FootnoteBot")
    assert not rules.allows("/docs/l%C3%B6hne/2025")
    assert rules.allows("/docs/lohne/2025")


def test_each_line_of_x_robots_tag_counts() -> None:
    assert robots.forbids_indexing("otherbot: nofollow\nnoindex", "FootnoteBot/1.0")
    assert not robots.forbids_indexing("footnotebot: nofollow\notherbot: noindex", "FootnoteBot/1.0")
    several = [(b"X-Robots-Tag", b"noindex"), (b"x-robots-tag", b"otherbot: all"), (b"Etag", b"1"), (b"etag", b"2")]
    found = net_client._headers(httpcore2.Response(200, headers=several))
    assert found == {"x-robots-tag": "noindex\notherbot: all", "etag": "2"}


@pytest.mark.parametrize(
    ("header", "forbids"),
    [
        ("noindex", True), ("nofollow, NONE", True), ("footnotebot: noindex", True), ("otherbot: noindex", False),
        ("otherbot: nofollow, noindex", False), ("max-snippet: 20, noindex", True), ("nofollow", False),
        ("noindex\notherbot: nofollow", True), ("otherbot: nofollow\nnoindex", True),
        ("otherbot: nofollow\nnofollow", False),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", True), ("", False),
    ],
)  # fmt: skip
async def test_x_robots_tag_is_kept_to(web: Site, tmp_path: Path, header: str, forbids: bool) -> None:
    web.page("/docs/", f"{TEXT}<a href=a.pdf>x</a><a href=b>x</a>")
    web.page("/docs/b", TEXT)
    web.replies["/docs/b"].headers["x-robots-tag"] = header
    web.replies["/docs/a.pdf"] = Reply(b"%PDF-1.4", headers={"content-type": "application/pdf", "x-robots-tag": header})
    found = await pages(web, tmp_path)
    listed = {item.id.removeprefix(web.base) for page in found for item in page.items}
    assert listed == ({"/docs/"} if forbids else {"/docs/", "/docs/a.pdf", "/docs/b"})
    warned = " ".join(warning for page in found for warning in page.warnings)
    assert ("asks not to be indexed" in warned) is forbids


async def test_what_has_not_changed_but_is_not_to_be_indexed_goes(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a>")
    web.page("/docs/a", f"{TEXT}<a href=b>b</a>")
    web.page("/docs/b", TEXT)
    memory = Memory()
    assert set(await items(web, tmp_path, memory)) == {"/docs/", "/docs/a", "/docs/b"}
    web.replies["/docs/a"].headers["x-robots-tag"] = "noindex"
    assert set(await items(web, tmp_path, memory)) == {"/docs/", "/docs/b"}


async def test_crawl_delay_is_waited_for(web: Site, tmp_path: Path) -> None:
    web.put("/robots.txt", b"User-agent: *\nCrawl-delay: 0.3")
    web.page("/docs/", f"{TEXT}<a href=a>a</a><a href=b>b</a>")
    web.page("/docs/a", TEXT)
    web.page("/docs/b", TEXT)
    await items(web, tmp_path)
    times = web.times[1:]
    assert len(times) == 3
    assert all(later - earlier >= 0.25 for earlier, later in itertools.pairwise(times))


async def test_a_busy_site_is_left_alone(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", TEXT)
    good, answers = web.replies["/docs/"], iter([503])

    def busy(handler: Any) -> None:
        status = next(answers, 200)
        handler.send_response(status)
        handler.send_header("Retry-After", "0")
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(good.body) if status == 200 else 0))
        handler.end_headers()
        if status == 200:
            handler.wfile.write(good.body)

    web.replies["/docs/"] = Reply(raw=busy)
    assert set(await items(web, tmp_path)) == {"/docs/"}
    web.replies["/docs/"] = Reply(status=429, headers={"retry-after": "3600"})
    with pytest.raises(SourceUnavailable, match="asks for a pause"):
        await items(web, tmp_path)


async def test_a_page_that_fails_keeps_its_item_and_what_lies_behind(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a>")
    web.page("/docs/a", f"{TEXT}<a href=b>b</a>")
    web.page("/docs/b", TEXT)
    memory = Memory()
    await items(web, tmp_path, memory)
    web.replies["/docs/a"] = Reply(status=500)
    found = await pages(web, tmp_path, memory)
    by_name = {item.id.removeprefix(web.base): item for page in found for item in page.items}
    assert set(by_name) == {"/docs/", "/docs/a", "/docs/b"}
    skip = by_name["/docs/a"].skip
    assert skip is not None
    assert (skip.reason, skip.permanent) == ("AWAY", False)
    assert not any(page.partial for page in found)
    fresh = await pages(web, tmp_path, Memory())  # nothing is known: what lies behind is not seen
    assert any(page.partial for page in fresh)


@pytest.mark.parametrize("memory", [Memory(), None], ids=["known", "new"])
async def test_a_page_that_fails_keeps_its_name(web: Site, tmp_path: Path, memory: Memory | None) -> None:
    names = ("", "intro", "a.php", "get?id=1")
    web.page("/docs/", TEXT + "".join(f"<a href={name}>x</a>" for name in names))
    for name in names[1:3]:
        web.page(f"/docs/{name}", TEXT)
    web.put("/docs/get?id=1", b"%PDF-1.4 ...", "application/pdf")
    before = {name: item.name for name, item in (await items(web, tmp_path, memory)).items()}
    assert set(before.values()) == {"docs.html", "intro.html", "a.html", "get.pdf"}
    for name in names[1:] if memory else names[1:3]:
        web.replies[f"/docs/{name}"] = Reply(status=503, headers={"retry-after": "3600"})
    after = await items(web, tmp_path, memory)
    assert {name: item.name for name, item in after.items()} == before
    assert [item.skip is None for item in after.values()].count(False) == (3 if memory else 2)


async def test_the_number_of_pages_is_limited(web: Site, tmp_path: Path) -> None:
    for number in range(10):
        web.page(f"/docs/{number or ''}", f"{TEXT}<a href={number + 1}>next</a>")
    found = await pages(web, tmp_path, max_pages=4)
    assert sum(len(page.items) for page in found) == 4
    assert "more than 4 pages" in found[-1].partial


async def test_files_that_a_site_links_to(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a.pdf>a</a><a href=b.zip>b</a><a href=notes>n</a>")
    web.put("/docs/a.pdf", b"%PDF-1.4 ...", "application/pdf")
    web.put("/docs/b.zip", b"PK", "application/zip")
    web.put("/docs/notes", b"Notes", "text/plain")
    found = await items(web, tmp_path)
    assert {name: item.name for name, item in found.items()} == {
        "/docs/": "docs.html", "/docs/a.pdf": "a.pdf", "/docs/notes": "notes.txt",
    }  # fmt: skip
    connection = WEB.open(opening(web, tmp_path))
    assert await content(connection, found["/docs/a.pdf"]) == b"%PDF-1.4 ..."
    assert b"long enough" in await content(connection, found["/docs/"])
    del web.replies["/docs/a.pdf"]
    with pytest.raises(ItemGone):
        await content(connection, found["/docs/a.pdf"])
    await connection.close()


async def test_languages_are_chosen(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=de>de</a><a href=fr>fr</a>")
    web.page("/docs/de", TEXT, lang="de-CH")
    web.page("/docs/fr", TEXT, lang="fr")
    assert set(await items(web, tmp_path, languages=["de"])) == {"/docs/de"}


@pytest.mark.parametrize("earlier", [False, True], ids=["", "of an earlier version"])
@pytest.mark.parametrize("mode", ["site", "sitemap"])
async def test_languages_are_chosen_among_unchanged_pages(web: Site, tmp_path: Path, mode: str, earlier: bool) -> None:
    places = "".join(
        f"<url><loc>{web.base}/docs/{one}</loc><lastmod>2026-01-02T10:11:12Z</lastmod></url>" for one in ("de", "fr")
    )
    web.put("/sitemap.xml", f"<urlset>{places}</urlset>".encode())
    web.page("/docs/", f"{TEXT}<a href=de>de</a><a href=fr>fr</a><a href=x.pdf>x</a>", lang="de")
    web.page("/docs/de", TEXT, lang="de-CH")
    web.page("/docs/fr", TEXT, lang="fr")
    web.put("/docs/x.pdf", b"%PDF-1.4 ...", "application/pdf")
    memory = Memory()
    before = await items(web, tmp_path, memory, mode=mode)
    assert "/docs/fr" in before
    if earlier:
        for known in memory.known.values():
            cast(dict[str, Any], known.memo).pop("language", None)
    after = await items(web, tmp_path, memory, mode=mode, languages=["de"])
    assert set(after) == set(before) - {"/docs/fr"}


async def test_a_sitemap_saves_requests(web: Site, tmp_path: Path) -> None:
    def sitemap(times: dict[str, str]) -> None:
        urls = "".join(
            f"<url><loc>{web.base}/docs/{name}</loc><lastmod>{time}</lastmod></url>" for name, time in times.items()
        )
        web.put("/map.xml", f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>".encode())

    index = f"<sitemapindex><sitemap><loc>{web.base}/map.xml</loc></sitemap></sitemapindex>"
    web.put("/robots.txt", f"Sitemap: {web.base}/index.xml".encode())
    web.put("/index.xml", index.encode())
    sitemap({"a": "2026-01-01", "b": "2026-01-01"})
    web.page("/docs/a", TEXT)
    web.page("/docs/b", TEXT)
    memory = Memory()
    assert set(await items(web, tmp_path, memory, mode="sitemap")) == {"/docs/a", "/docs/b"}
    web.asked.clear()
    assert set(await items(web, tmp_path, memory, mode="sitemap")) == {"/docs/a", "/docs/b"}
    assert web.paths() == ["/index.xml", "/map.xml"]
    sitemap({"a": "2026-01-02", "b": "2026-01-01"})
    web.asked.clear()
    await items(web, tmp_path, memory, mode="sitemap")
    assert web.paths() == ["/index.xml", "/map.xml", "/docs/a"]


@pytest.mark.parametrize("midnight", ["", "T00:00:00+00:00", "T23:00:00.000Z"])
async def test_a_date_in_a_sitemap_says_nothing_of_a_second_change_that_day(
    web: Site, tmp_path: Path, midnight: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = datetime.now(UTC).date()
    entry = f"<url><loc>{web.base}/docs/a</loc><lastmod>{today.isoformat()}{midnight}</lastmod></url>"
    web.put("/map.xml", f"<urlset>{entry}</urlset>".encode())
    settings: dict[str, Any] = {"url": f"{web.base}/map.xml", "mode": "sitemap"}
    web.page("/docs/a", TEXT)
    memory = Memory()
    versions = {(await items(web, tmp_path, memory, **settings))["/docs/a"].version}
    web.page("/docs/a", f"{TEXT}<p>It was changed again in the afternoon.</p>")
    versions.add((await items(web, tmp_path, memory, **settings))["/docs/a"].version)
    assert len(versions) == 2
    for days in (2, 3):  # the day is over everywhere: one more request, then none
        monkeypatch.setattr(web_sitemaps, "_today", lambda days=days: today + timedelta(days=days))
        web.asked.clear()
        await items(web, tmp_path, memory, **settings)
        assert web.paths() == ["/map.xml", "/docs/a"][: 4 - days]


async def test_a_start_that_is_gone_is_away(web: Site, tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable):
        await pages(web, tmp_path)
    web.replies["/docs/"] = Reply(status=403)
    with pytest.raises(SourceRefused, match="403"):
        await pages(web, tmp_path)
    web.base = "http://127.0.0.1:9"
    with pytest.raises((SourceUnavailable, SourceRefused)):
        await pages(web, tmp_path)


def test_failures_say_why() -> None:
    assert str(ItemFailed("AWAY", "words")) == "words"


@pytest.mark.slow
async def test_a_page_of_many_links_leads_to_all_of_them(web: Site, tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(2300)]
    web.page("/docs/", "".join(f"<a href={name}>x</a>" for name in names))
    found = await pages(web, tmp_path, depth=1, exclude=["/docs/p1*"], max_pages=5000)
    assert not found[-1].partial
    asked = {path for path in web.paths() if path != "/docs/"}
    assert asked == {f"/docs/{name}" for name in names if not name.startswith("p1")}


@pytest.mark.slow
async def test_more_links_than_are_read_make_a_listing_partial(web: Site, tmp_path: Path) -> None:
    links = "".join(f"<a href=x{number}></a>" for number in range(MOST_LINKS + 1))
    web.page("/docs/", TEXT + links)
    memory = Memory()
    for _ in range(2):  # the second time nothing has changed
        found = await pages(web, tmp_path, memory, exclude=["/docs/x*"])
        assert "more links" in found[-1].partial
        assert [item.id for page in found for item in page.items] == [f"{web.base}/docs/"]
    web.page("/docs/", TEXT + links.replace("<a href=x1></a><a href=x2></a>", ""))
    assert not (await pages(web, tmp_path, memory, exclude=["/docs/x*"]))[-1].partial


async def test_a_new_page_that_fails_is_shown_with_its_reason(web: Site, tmp_path: Path) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a><a href=b>b</a><a href=gone>g</a>")
    web.replies["/docs/a"] = Reply(b"no", 403)
    web.replies["/docs/b"] = Reply(b"no", 500)
    found = await items(web, tmp_path)
    assert set(found) == {"/docs/", "/docs/a", "/docs/b"}
    reasons = {name: item.skip.reason for name, item in found.items() if item.skip is not None}
    assert reasons == {"/docs/a": "REFUSED", "/docs/b": "AWAY"}
    assert set(await items(web, tmp_path, exclude=["/docs/a"])) == {"/docs/", "/docs/b"}


@pytest.mark.parametrize(
    "where", ["http://0000::1:80/", "http://127.1.1.1:80:\\@@127.2.2.2:80/", "http://[::1", "http://x:y/"]
)
async def test_a_redirect_to_no_address_fails_that_page_only(web: Site, tmp_path: Path, where: str) -> None:
    web.page("/docs/", f"{TEXT}<a href=a>a</a><a href=b>b</a>")
    web.replies["/docs/a"] = Reply(status=302, headers={"location": where})
    web.page("/docs/b", TEXT)
    found = await items(web, tmp_path)
    assert set(found) == {"/docs/", "/docs/a", "/docs/b"}
    assert found["/docs/a"].skip is not None
    assert found["/docs/a"].skip.reason == "ADDRESS"


async def test_no_address_in_a_sitemap_is_passed_over(web: Site, tmp_path: Path) -> None:
    wrong = "<url><loc>http://[::1</loc></url><url><loc>http://x:y/</loc></url>"
    page = f"<url><loc>{web.base}/docs/a</loc></url>"
    web.put("/map.xml", f"<urlset>{wrong}{page}</urlset>".encode(), "text/xml")
    web.page("/docs/a", TEXT)
    found = await items(web, tmp_path, url=f"{web.base}/map.xml", mode="sitemap")
    assert set(found) == {"/docs/a"}

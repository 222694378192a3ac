"""The console's files as edge serves them: to anybody, named by their content, under a policy against all else."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from footnote_edge.app import build
from footnote_edge.http.console.pages import BUILT, files
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

ASSETS = [path for path in files() if path != "/"]
LARGEST_SCRIPT = 300_000


@pytest.fixture(params=["", "keys"])
async def http(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of edge, without authentication and with keys."""
    if request.param:
        monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", request.param)
    async with (
        serve_doubles(World()) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path) as served,
        httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=20) as client,
    ):
        client.headers["x-test-auth"] = request.param
        yield client


async def test_the_page_needs_no_key_and_runs_nothing_but_its_own_files(http: httpx2.AsyncClient) -> None:
    page = await http.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["worker-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert not re.search(r"https?:|<script>|<style|\son\w+=", page.text), (
        "the page names another place, or runs something inline"
    )
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', page.text):
        assert path in ASSETS
    for path in ASSETS:
        assert (await http.get(path)).headers["content-security-policy"] == page.headers["content-security-policy"]


async def test_without_an_issuer_a_key_is_all_there_is_to_sign_in_with(http: httpx2.AsyncClient) -> None:
    ways = await http.get("/signin.json")
    assert ways.json() == {"keys": True, "links": True}
    assert ways.headers["cache-control"] == "no-cache"
    assert "connect-src 'self';" in ways.headers["content-security-policy"]


@pytest.mark.parametrize("auth", ["keys,jwt", "jwt"])
async def test_with_an_issuer_the_page_may_ask_it_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auth: str
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", auth)
    monkeypatch.setenv("FOOTNOTE_EDGE_JWT_JWKS_URL", "https://login.example/realms/a/keys")
    monkeypatch.setenv("FOOTNOTE_EDGE_JWT_ISSUER", "https://login.example/realms/a")
    monkeypatch.setenv("FOOTNOTE_EDGE_OIDC_CLIENT_ID", "console")
    monkeypatch.setenv("FOOTNOTE_EDGE_OIDC_ORIGINS", "https://tokens.example:8443, https://login.example")
    async with (
        serve_doubles(World()) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path) as served,
        httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=20) as client,
    ):
        issuer = "https://login.example/realms/a"
        known = {"issuer": issuer, "client_id": "console", "scope": "openid", "token": "access"}
        assert (await client.get("/signin.json")).json() == {"keys": auth == "keys,jwt", "links": True, "oidc": known}
        for path in ("/", ASSETS[0], "/signin.json"):
            found = (await client.get(path)).headers["content-security-policy"]
            policy = dict(part.split(" ", 1) for part in found.split("; "))
            assert policy["connect-src"] == "'self' https://login.example https://tokens.example:8443"
            assert [name for name, given in policy.items() if "example" in given] == ["connect-src"]


async def test_assets_are_kept_by_their_content_and_sent_packed(http: httpx2.AsyncClient) -> None:
    for path in ASSETS:
        async with http.stream("GET", path, headers={"accept-encoding": "gzip"}) as answer:
            packed = b"".join([part async for part in answer.aiter_raw()])
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert gzip.decompress(packed) == files()[path].read_bytes()
        for unwilling in ("identity", "br", "gzip;q=0"):
            bare = await http.get(path, headers={"accept-encoding": unwilling})
            assert "content-encoding" not in bare.headers, unwilling
            assert bare.content == files()[path].read_bytes()
        known = await http.get(path, headers={"if-none-match": answer.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")
        head = await http.head(path)
        assert (head.status_code, head.content) == (200, b"")


async def test_nothing_else_becomes_reachable(http: httpx2.AsyncClient) -> None:
    unknown = 401 if http.headers["x-test-auth"] else 404
    for path in (
        "/assets/",
        "/assets",
        "/assets/x.js",
        "/assets/../index.html",
        "/assets/%2e%2e/index.html",
        "/index.html",
        "/x",
    ):
        assert (await http.get(path)).status_code == unknown, path
    for path in ("/", ASSETS[0]):
        refused = await http.post(path, json={})
        assert refused.status_code == 405
        assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_pages_elsewhere_cannot_load_or_drive_it(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/", headers={"origin": "https://evil.example"})).status_code == 403
    if http.headers["x-test-auth"]:
        return
    assert (await http.get("/", headers={"host": "evil.example"})).status_code == 403
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}
    assert (await http.get(ASSETS[0], headers=foreign)).status_code == 403
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert (await http.get("/", headers=followed)).status_code == 200


def test_the_script_without_what_is_loaded_later_is_small() -> None:
    later = re.compile(r"(pdf|office|katex|[a-z]{2})-")  # languages have names of two letters
    scripts = [path for path in (BUILT / "assets").glob("*.js") if not later.match(path.name)]
    assert 0 < sum(path.stat().st_size for path in scripts) <= LARGEST_SCRIPT


def test_no_asset_asks_another_place_for_anything() -> None:
    page = (BUILT / "index.html").read_text()
    assert set(re.findall(r"/assets/[\w.-]+", page)) <= set(ASSETS)
    # Files of Office name their namespaces, and jszip its documentation in a message.
    office = {"schemas.openxmlformats.org", "schemas.microsoft.com", "docx", "stuk.github.io"}
    for path in (BUILT / "assets").glob("[!p]*"):  # pdf.js names specifications and namespaces
        hosts = set(re.findall(r"https?://([\w.-]+)", path.read_text()))
        assert hosts <= {"www.w3.org", *(office if path.name.startswith("office-") else ())}, path.name

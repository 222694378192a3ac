"""Signing in with OpenID Connect, in a real browser, by a real provider on loopback."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.console import CHROMIUM, WITHOUT_AXE, Page, Site, barriers, make_keys
from support.deployment import deployment
from support.doubles.issuer import CLIENT, Issuer, provider, settings

pytestmark = [pytest.mark.full, pytest.mark.slow]
WAYS = "Sign in with OpenID Connect"


@dataclass
class Both:
    """A console that takes keys and tokens, and the provider of these."""

    site: Site
    issuer: Issuer

    def signed_in(self, user: str) -> Page:
        page = self.site.page("")
        page.requests = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.get_by_role("button", name=WAYS).click()
        page.get_by_role("link", name=user).click()
        page.wait_for_selector(".asker")
        return page


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A deployment that trusts an identity provider on loopback, and a browser."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    folder = tmp_path_factory.mktemp("oidc")
    keys = asyncio.run(make_keys(folder))
    with (
        provider() as issuer,
        deployment(folder, env=settings(issuer)) as serving,
        playwright.sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Both(Site(serving, browser, keys), issuer)
        browser.close()


@pytest.fixture
def both(running: Both) -> Both:
    """The provider as it was at first."""
    fresh = Issuer()
    for name in ("lifetime", "refreshes", "wrong_nonce", "exchanges", "asked", "revoked", "ended"):
        setattr(running.issuer, name, getattr(fresh, name))
    return running


def test_a_code_becomes_a_token_that_no_address_holds(both: Both) -> None:
    page = both.signed_in("ann")
    assert page.url == both.site.url
    assert "ann · acme" in page.locator(".who").text_content()
    (asked,) = both.issuer.asked
    assert asked["response_type"] == "code"
    assert (asked["client_id"], asked["code_challenge_method"]) == (CLIENT, "S256")
    assert asked["redirect_uri"] == both.site.url
    assert asked["scope"] == "openid offline_access"
    assert len(asked["code_challenge"]) == 43
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    (exchange,) = both.issuer.exchanges
    assert "client_secret" not in exchange
    token = page.evaluate("JSON.parse(sessionStorage.getItem('footnote.oidc')).token")
    assert token.count(".") == 2
    assert not any(token in url for url in page.requests)
    assert page.evaluate("localStorage.getItem('footnote.oidc')") is None
    assert page.evaluate("location.search") == ""
    # It lasts as long as the tab: after a reload, the page does not ask again.
    page.reload()
    page.wait_for_selector(".asker")
    assert len(both.issuer.exchanges) == 1
    assert not page.faults
    page.context.close()


def test_one_comes_back_to_where_one_was(both: Both) -> None:
    page = both.site.page("")
    page.goto(f"{both.site.url}#/collections")
    page.get_by_role("button", name=WAYS).click()
    page.get_by_role("link", name="ann").click()
    page.get_by_role("heading", name="Collections").first.wait_for()
    assert page.url == f"{both.site.url}#/collections"
    page.context.close()


@pytest.mark.parametrize("wrong", ["state", "nothing begun", "issuer"])
def test_an_answer_that_was_not_asked_for_here_is_refused(both: Both, wrong: str) -> None:
    page = both.site.page("")
    address = f"{both.site.url}?code=stolen&state=x"
    if wrong != "nothing begun":
        page.get_by_role("button", name=WAYS).click()
        page.wait_for_selector("h1:has-text('Who are you?')")
        address = page.get_by_role("link", name="ann").get_attribute("href")
    if wrong == "state":
        address = address.replace("state=", "state=x")
    elif wrong == "issuer":
        address = address.replace("iss=http", "iss=https")
    page.goto(address)
    page.get_by_text("This sign-in was not begun here.").wait_for()
    assert page.url == both.site.url or page.url.startswith(both.site.url + "#")
    assert not both.issuer.exchanges
    # A good answer that comes after a bad one is of a sign-in that has ended.
    if wrong == "state":
        page.goto(address.replace("state=x", "state="))
        page.get_by_text("This sign-in was not begun here.").wait_for()
        assert not both.issuer.exchanges
    page.context.close()


def test_a_link_from_elsewhere_signs_nobody_in_or_out(both: Both) -> None:
    page = both.site.page("admin")
    page.goto(f"{both.site.url}?code=stolen&state=x#/collections")
    page.get_by_role("heading", name="Collections").first.wait_for()
    assert page.url == f"{both.site.url}#/collections"
    assert "ann · acme" in page.locator(".who").text_content()
    assert not both.issuer.exchanges
    page.context.close()


def test_a_token_for_another_sign_in_is_refused(both: Both) -> None:
    both.issuer.wrong_nonce = True
    page = both.site.page("")
    page.get_by_role("button", name=WAYS).click()
    page.get_by_role("link", name="ann").click()
    page.get_by_text("This sign-in was not begun here.").wait_for()
    assert page.evaluate("sessionStorage.getItem('footnote.oidc')") is None
    page.context.close()


def test_what_the_issuer_refuses_is_said_in_its_words_as_text(both: Both) -> None:
    page = both.site.page("")
    page.get_by_role("button", name=WAYS).click()
    page.wait_for_selector("h1:has-text('Who are you?')")
    state = both.issuer.asked[-1]["state"]
    page.goto(f"{both.site.url}?error=access_denied&error_description=%3Cb%3Enot+today%3C%2Fb%3E&state={state}")
    page.get_by_text("<b>not today</b>").wait_for()
    page.context.close()


def test_a_token_is_renewed_before_it_ends_and_the_page_stays(both: Both) -> None:
    both.issuer.lifetime = 4.0
    page = both.signed_in("ann")
    page.get_by_label("Your question").fill("half a quest")
    page.wait_for_timeout(6_000)
    page.get_by_role("link", name="Collections").click()
    page.get_by_label("Name", exact=True).wait_for()
    page.get_by_role("link", name="Conversations").click()
    page.get_by_text("No conversations.").wait_for()
    kinds = [one["grant_type"] for one in both.issuer.exchanges]
    assert kinds[0] == "authorization_code"
    assert set(kinds[1:]) == {"refresh_token"}
    # Each is good for one renewal, however many calls ask for it at once.
    assert len({one["refresh_token"] for one in both.issuer.exchanges[1:]}) == len(kinds) - 1
    page.context.close()


def test_an_ended_token_asks_to_sign_in_again(both: Both) -> None:
    both.issuer.lifetime, both.issuer.refreshes = 2.0, False
    page = both.signed_in("ann")
    page.wait_for_timeout(2_500)
    page.get_by_role("link", name="Conversations").click()
    page.get_by_text("Your sign-in has ended. Sign in again.").wait_for()
    assert page.evaluate("sessionStorage.getItem('footnote.oidc')") is None
    assert page.locator(".side").count() == 0
    both.issuer.lifetime = 600.0
    page.get_by_role("button", name=WAYS).click()
    page.get_by_role("link", name="ann").click()
    page.get_by_role("heading", name="Conversations").wait_for()
    page.context.close()


def test_another_tenants_user_sees_nothing_of_the_first(both: Both) -> None:
    page = both.signed_in("ann")
    page.goto(f"{both.site.url}#/collections")
    page.get_by_label("Name", exact=True).fill("plans-of-acme")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="plans-of-acme", exact=True).wait_for()
    # In the same window, after signing out.
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="back").click()
    page.get_by_role("button", name=WAYS).click()
    page.get_by_role("link", name="rob").click()
    page.locator(".who", has_text="rob · rival").wait_for()
    page.goto(f"{both.site.url}#/collections")
    page.get_by_text("There are no collections yet.").wait_for()
    assert page.get_by_text("plans-of-acme").count() == 0
    page.context.close()


def test_signing_out_ends_it_here_and_at_the_issuer(both: Both) -> None:
    page = both.signed_in("ann")
    kept = page.evaluate("JSON.parse(sessionStorage.getItem('footnote.oidc')).refresh")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="back").wait_for()
    (ended,) = both.issuer.ended
    assert ended == {"client_id": CLIENT, "post_logout_redirect_uri": both.site.url}
    page.get_by_role("link", name="back").click()
    page.get_by_role("button", name=WAYS).wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    assert both.issuer.revoked == [kept]
    page.context.close()


@WITHOUT_AXE
def test_the_page_has_no_barrier(both: Both) -> None:
    page = both.site.page("")
    page.get_by_role("button", name=WAYS).wait_for()
    barriers(page, "signin")
    page.context.close()


def test_a_key_is_taken_beside(both: Both) -> None:
    page = both.site.page("admin")
    assert "ann · acme" in page.locator(".who").text_content()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key or token").wait_for()
    assert not both.issuer.ended
    page.context.close()


def test_the_policy_lets_the_page_ask_the_issuer_and_nobody_else(both: Both) -> None:
    page = both.site.page("")
    page.get_by_role("button", name=WAYS).wait_for()
    try_it = "url => fetch(url).then(() => 'came', () => 'refused')"
    known = f"{both.issuer.address}/.well-known/openid-configuration"
    assert page.evaluate(try_it, known) == "came"
    assert page.evaluate(try_it, known.replace("127.0.0.1", "localhost")) == "refused"
    page.context.close()

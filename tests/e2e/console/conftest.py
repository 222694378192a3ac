"""A deployment that wants keys, and a browser before it; skipped, with the reason, where there is none."""

import asyncio
from collections.abc import Iterator

import pytest
from support.console import CHROMIUM, PATIENCE_MS, SAMPLES, Site, make_keys
from support.deployment import deployment
from support.doubles.model_chat import ModelServer, model_aside


# Of a module, not of the session: while the driver runs, its event loop does, and tests with one of their own cannot.
@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A scripted chat model: the provider "openai" of the site, for collections that choose it."""
    with model_aside() as server:
        yield server


@pytest.fixture(scope="module")
def site(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A deployment with keys and a scripted model, and a browser before its console."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    folder = tmp_path_factory.mktemp("console")
    keys = asyncio.run(make_keys(folder))
    env = {
        "FOOTNOTE_EDGE_AUTH": "keys",
        "FOOTNOTE_OPENAI_BASE_URL": model.url,
        "FOOTNOTE_OPENAI_API_KEY": "sk-test-key-of-no-value",
    }
    with (
        deployment(folder, env=env) as running,
        playwright.sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Site(running, browser, keys)
        browser.close()


@pytest.fixture(scope="module")
def handbook(site: Site) -> str:
    """The samples, uploaded over HTTP; browser tests of uploads have collections of their own."""
    context = site.browser.new_context(extra_http_headers={"x-api-key": site.keys["admin"]})
    context.request.post(f"{site.url}v1/collections", data={"name": "handbook"})
    for path in sorted(SAMPLES.iterdir()):
        file = {"name": path.name, "mimeType": "application/octet-stream", "buffer": path.read_bytes()}
        answer = context.request.post(f"{site.url}v1/documents", multipart={"collection": "handbook", "file": file})
        assert answer.ok, answer.text()
    context.request.get(f"{site.url}v1/collections/handbook/documents:watch?until_idle=true", timeout=PATIENCE_MS)
    context.close()
    return "handbook"

"""Large sources: after a change of some items exactly those are touched, and a synchronisation of nothing is short."""

import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from support import edge_sources as kept
from support.source_servers import GitRepository, Site, git_server, site
from support.stage_doubles import World, serve_doubles

SMALL, LARGE = 60, {"web": 2000, "git": 5000, "mailbox": 5000, "folder": 5000}


class Origin:
    """Items by name, where a source finds them."""

    def __init__(self, kind: str, folder: Path, stack: ExitStack) -> None:
        self.kind, self.folder, self.stack = kind, folder, stack
        self.texts: dict[str, str] = {}
        self.site: Site | None = None
        self.repository: GitRepository | None = None
        (folder / "root").mkdir()
        self.root = folder / "root"

    def settings(self) -> dict[str, Any]:
        if self.kind == "web":
            self.site = self.stack.enter_context(site())
            return {"url": f"{self.site.base}/docs/", "delay": 0, "max_pages": 10_000}
        if self.kind == "git":
            self.root.rmdir()
            self.repository = GitRepository.make(self.root)
            self.stack.enter_context(git_server(self.repository))
            return {"url": f"{self.repository.url}/.git"}
        if self.kind == "mailbox":
            return {"path": str(self.folder / "box"), "format": "mbox"}
        return {"path": str(self.root)}

    def write(self) -> None:
        """Put the texts where the source reads them."""
        if self.site is not None:
            self.site.replies.clear()
            links = "".join(f"<a href={name}>{name}</a>" for name in self.texts)
            self.site.page("/docs/", links, head="<meta name=robots content=noindex>")
            for name, text in self.texts.items():
                self.site.page(
                    f"/docs/{name}", f"<p>{text} And words enough to be the main part of it.</p>", title="Item"
                )
            return
        if self.kind == "mailbox":
            mails = (f"From a@b\nSubject: {n}\nMessage-ID: <{n}@x>\n\n{text}\n\n" for n, text in self.texts.items())
            (self.folder / "box").write_text("".join(mails))
            return
        for path in self.root.glob("*.txt"):
            if path.stem not in self.texts:
                path.unlink()
        for name, text in self.texts.items():
            path = self.root / f"{name}.txt"
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
        if self.repository is not None:
            self.repository.commit()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
async def world() -> World:
    return World()


@pytest.fixture
async def edge(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_FOLDERS", str(tmp_path))
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_PRIVATE_HOSTS", "127.0.0.1")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.2")
    monkeypatch.setattr(kept, "LIMIT", 1200.0)
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        stub = EdgeStub(running.channel)
        await kept.collection(stub)
        yield stub


CASES = [pytest.param(kind, SMALL, id=f"{kind}-small") for kind in LARGE]
CASES += [pytest.param(kind, count, id=kind, marks=[pytest.mark.bench]) for kind, count in LARGE.items()]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("kind", "count"), CASES)
async def test_exactly_what_changed_is_touched(
    edge: EdgeStub, world: World, tmp_path: Path, stack: ExitStack, kind: str, count: int
) -> None:
    origin = Origin(kind, tmp_path, stack)
    origin.texts = {f"n{number}": f"The text of item number {number}." for number in range(count)}
    settings = origin.settings()
    origin.write()
    began = time.monotonic()
    source = await kept.settled(edge, await kept.create(edge, kind, settings))
    first = time.monotonic() - began
    assert (source.items, source.items_in_step) == (count, count), source

    world.calls.clear()
    began = time.monotonic()
    await kept.sync(edge, source)
    nothing = time.monotonic() - began
    assert touched(world) == (0, 0, 0)

    share = max(count // 100, 1)
    for number in range(share):
        origin.texts[f"n{number}"] += " Changed."
        del origin.texts[f"n{number + share}"]
        origin.texts[f"moved{number}"] = origin.texts.pop(f"n{number + 2 * share}")
    origin.write()
    world.calls.clear()
    await kept.sync(edge, source)
    assert len(world.documents) == count - share
    uploads, relabelled, deleted = touched(world)
    if kind == "mailbox":  # a mail's id is in its bytes: what has another is another mail
        assert (uploads, deleted) == (share, 2 * share)
    else:
        assert (uploads, relabelled, deleted) == (0, 2 * share, share)
    assert len(world.requests("ParseDocument")) == (2 * share if kind == "mailbox" else share)
    if (out := os.environ.get("FOOTNOTE_SOURCES_OUT")) is not None:
        line = json.dumps({"kind": kind, "items": count, "first_s": round(first, 2), "nothing_s": round(nothing, 2)})
        with Path(out).open("a") as file:  # noqa: ASYNC230 - at the end of a measurement
            file.write(f"{line}\n")


def touched(world: World) -> tuple[int, int, int]:
    """Return how many documents were made, given another origin, and deleted."""
    return tuple(len(world.requests(name)) for name in ("UploadDocument", "UpdateDocument", "BeginDeletion"))  # type: ignore[return-value]

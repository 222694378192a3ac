"""`footnote models pull` against a hub of the tests: whole, broken off, changed, and not there."""

import hashlib
import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from footnote_cli.errors import CommandError
from footnote_cli.main import app
from footnote_cli.models import catalogue, pulling
from footnote_cli.models.catalogue import File, Model
from footnote_kit.backoff import Backoff
from footnote_providers.pair_classifier import PairClassifier
from support.tiny_nli import write_model
from typer.testing import CliRunner

QUICK = Backoff(0.001, 0.002)


class Hub:
    """What the server has and how it misbehaves: bytes of a file before it is `cut`, `statuses` to answer first."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.cut: dict[str, list[int]] = {}
        self.statuses: list[int] = []
        self.etags = True
        self.asked: list[tuple[str, str]] = []
        self.sent = 0
        self.url = ""


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, wanted = self.path, self.headers.get("range", "")
            if path.startswith("/hub/"):  # as the real one, it sends files from elsewhere
                self.send_response(302)
                self.send_header("location", f"{hub.url}/cdn/{path.rsplit('/', 1)[1]}")
                self.end_headers()
                return
            name = path.rsplit("/", 1)[1]
            hub.asked.append((name, wanted))
            if hub.statuses:
                self.send_response(hub.statuses.pop(0))
                self.end_headers()
                return
            body = hub.files.get(name)
            if body is None:
                self.send_response(404)
                self.end_headers()
                return
            tag = f'"{hashlib.md5(body).hexdigest()}"'
            start = 0
            if wanted and self.headers.get("if-range") == tag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                self.send_response(206)
                self.send_header("content-range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            else:
                self.send_response(200)
            if hub.etags:
                self.send_header("etag", tag)
            self.send_header("content-length", str(len(body) - start))
            self.end_headers()
            cuts = hub.cut.get(name, [])
            end = start + cuts.pop(0) if cuts else len(body)
            self.wfile.write(body[start:end])
            hub.sent += len(body[start:end])

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A model hub on loopback with one small model."""
    state = Hub(write_model(tmp_path / "made", {"left": "ENTAILMENT"}))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(state))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def model(hub: Hub, pinned: str = "") -> Model:
    checksum = pinned or hashlib.sha256(hub.files["model.onnx"]).hexdigest()
    names = ("model.onnx", "tokenizer.json", "config.json")
    files = tuple(File(f"onnx/{name}", name, checksum if name == "model.onnx" else "") for name in names)
    return Model("tiny", "a tiny one", "us/tiny", "0" * 40, files)


def pull(hub: Hub, folder: Path, **more: Any) -> tuple[dict[str, str], list[tuple[str, int, int | None]]]:
    told: list[tuple[str, int, int | None]] = []
    found = pulling.pull(model(hub, **more), folder, f"{hub.url}/hub", lambda *one: told.append(one), QUICK)
    return found, told


def test_a_model_is_fetched_checked_and_loads(hub: Hub, tmp_path: Path) -> None:
    found, told = pull(hub, tmp_path / "m")
    assert {name: hashlib.sha256(body).hexdigest() for name, body in hub.files.items()} == found
    assert json.loads((tmp_path / "m" / pulling.RECORD).read_text()) == found
    assert told[-1][1] == told[-1][2] == len(hub.files["config.json"])
    assert not list((tmp_path / "m").glob("*.part*"))
    PairClassifier(tmp_path / "m", "NLI model", cut="only_first", also=["config.json"])
    # What is there with its checksum is not fetched again; what was damaged is.
    hub.asked.clear()
    pull(hub, tmp_path / "m")
    assert hub.asked == []
    (tmp_path / "m" / "config.json").write_text("{}")
    pull(hub, tmp_path / "m")
    assert [name for name, _ in hub.asked] == ["config.json"]


def test_a_pull_that_is_broken_off_goes_on_where_it_was(hub: Hub, tmp_path: Path) -> None:
    size = len(hub.files["tokenizer.json"])
    hub.cut["tokenizer.json"] = [100, 50]
    found, _ = pull(hub, tmp_path / "m")
    asked = [wanted for name, wanted in hub.asked if name == "tokenizer.json"]
    assert asked == ["", "bytes=100-", "bytes=150-"]
    assert found["tokenizer.json"] == hashlib.sha256(hub.files["tokenizer.json"]).hexdigest()
    assert hub.sent == size + len(hub.files["model.onnx"]) + len(hub.files["config.json"])


def test_it_goes_on_in_another_process_and_anew_where_the_file_has_changed(hub: Hub, tmp_path: Path) -> None:
    hub.cut["tokenizer.json"] = [100, 0, 0]
    with pytest.raises(CommandError) as caught:
        pull(hub, tmp_path / "m")
    assert "resumes" in caught.value.hint
    assert (tmp_path / "m" / "tokenizer.json.part").stat().st_size == 100
    assert not (tmp_path / "m" / "tokenizer.json").exists()
    hub.files["tokenizer.json"] = hub.files["tokenizer.json"].replace(b"UNK", b"UNX")
    pull(hub, tmp_path / "m")
    assert (tmp_path / "m" / "tokenizer.json").read_bytes() == hub.files["tokenizer.json"]


def test_without_tags_it_begins_anew_rather_than_mix_two_files(hub: Hub, tmp_path: Path) -> None:
    hub.etags = False
    hub.cut["tokenizer.json"] = [100]
    pull(hub, tmp_path / "m")
    assert [wanted for name, wanted in hub.asked if name == "tokenizer.json"] == ["", ""]
    assert (tmp_path / "m" / "tokenizer.json").read_bytes() == hub.files["tokenizer.json"]


def test_another_checksum_is_refused_and_thrown_away(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="another checksum"):
        pull(hub, tmp_path / "m", pinned="a" * 64)
    assert not list((tmp_path / "m").glob("model.onnx*"))
    # And so is one that differs from what the first pull wrote down.
    pull(hub, tmp_path / "m")
    (tmp_path / "m" / "config.json").unlink()
    hub.files["config.json"] += b" "
    with pytest.raises(CommandError, match=r"config\.json of tiny has another checksum"):
        pull(hub, tmp_path / "m")
    assert not (tmp_path / "m" / "config.json").exists()


def test_what_may_pass_is_tried_again_and_what_may_not_is_said(hub: Hub, tmp_path: Path) -> None:
    hub.statuses = [503, 429]
    pull(hub, tmp_path / "m")
    hub.statuses = [403]
    with pytest.raises(CommandError, match="answered 403"):
        pull(hub, tmp_path / "n")


def test_the_command_says_how_to_use_it_and_what_to_do_offline(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnote_cli.commands.models.MODELS", (model(hub),))
    monkeypatch.setenv("COLUMNS", "300")
    arguments = ["models", "pull", "tiny", "--into", str(tmp_path / "models")]
    done = CliRunner().invoke(app, [*arguments, "--from", f"{hub.url}/hub"])
    assert done.exit_code == 0, done.output
    assert f"FOOTNOTE_GENERATION_VERIFIER=nli:{tmp_path / 'models' / 'tiny'}" in done.output
    assert "as known" in done.output
    assert "taken on the first pull" in done.output
    monkeypatch.setattr(pulling, "Backoff", lambda *_: QUICK)
    away = CliRunner().invoke(
        app, ["models", "pull", "tiny", "--into", str(tmp_path / "x"), "--from", "http://127.0.0.1:1"]
    )
    assert away.exit_code == 1
    assert "could not be fetched from 127.0.0.1:1" in away.output
    assert "pull on another one, copy the folder here" in " ".join(away.output.split())
    assert "Traceback" not in away.output
    assert CliRunner().invoke(app, ["models", "pull", "nowhere"]).exit_code == 2
    hub.files["model.onnx"] = b"no model"
    bad = CliRunner().invoke(app, [*arguments[:-1], str(tmp_path / "bad"), "--from", f"{hub.url}/hub"])
    assert bad.exit_code == 1


def test_the_catalogue_is_of_fixed_commits() -> None:
    assert len(catalogue.MODELS) == 2
    for one in catalogue.MODELS:
        assert re.fullmatch(r"[0-9a-f]{40}", one.revision)
        assert {file.name for file in one.files} == {"model.onnx", "tokenizer.json", "config.json"}
        assert all(re.fullmatch(r"([0-9a-f]{64})?", file.sha256) for file in one.files)
    shown = CliRunner().invoke(app, ["models", "list"])
    assert "nli-multilingual" in shown.output

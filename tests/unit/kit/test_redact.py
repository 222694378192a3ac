"""Secrets cut out of texts: every form, every place that makes texts, and in linear time."""

from __future__ import annotations

import io
import json
import logging
import sys
import time
from collections.abc import Iterator

import pytest
import structlog
from footnote_kit import errors, logs, redact, status, telemetry
from footnote_kit.private import child_environment
from footnote_kit.settings import KitSettings
from hypothesis import given
from hypothesis import strategies as st
from support.leaks import FORMS, KEY, leaks


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """One secret is registered; logging is as before after the test."""
    redact.register(KEY)
    root = logging.getLogger()
    before = root.level, list(root.handlers), structlog.get_config()
    yield
    root.setLevel(before[0])
    root.handlers = before[1]
    structlog.configure(**before[2])


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_is_left_in_a_text(form: str) -> None:
    assert leaks(FORMS[form]), "the form gives nothing away: the test is blind"
    for text in (FORMS[form], f"HTTP 401: {FORMS[form]}, try again", f"({FORMS[form]})", f"\n{FORMS[form]}\n"):
        assert leaks(redact.redact(text)) == [], redact.redact(text)


@pytest.mark.parametrize("form", FORMS)
def test_errors_spans_and_logs_are_cleaned_where_they_are_made(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FORMS[form]
    error = errors.Unavailable(text, metadata={"words": text}, violations=[("key", text)])
    wire = status.to_proto(error)
    assert leaks(str(error) + repr(error) + str(wire)) == []
    assert leaks(str(status.from_proto(wire))) == []

    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    for log_format in ("json", "human"):
        logs.configure(KitSettings(log_level="debug", log_format=log_format))
        log = logs.get_logger("test")
        try:
            raise ValueError(text)
        except ValueError as caught:
            log.error("it_failed", words=text, deep={"in": [text, {text: 1}]}, exc_info=caught)
        logging.getLogger("foreign").warning("said %s", text)
    lines = stream.getvalue()
    assert lines.count("it_failed") == 2
    assert lines.count("foreign") >= 1
    assert leaks(lines) == []
    json.loads(lines.splitlines()[0])

    with telemetry.span(f"call {text}", {"a": text, "b": [text]}) as span:
        span.add_event("answer", {"words": text})
        trace = span.get_span_context().trace_id
        span.set_attribute("footnote.tenant_id", "t")
        telemetry.mark_failed(span, error)
    [kept] = telemetry.ring.spans(trace, "t")
    assert leaks(f"{kept.name} {kept.to_json()}") == []


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("OPENAI_API_KEY", "abc-def-ghi-jkl", "abc-def-ghi-jkl"),
        ("FOOTNOTE_VECTOR_STORE_TOKEN", "root:Milvus-pass", "Milvus-pass"),
        ("FOOTNOTE_EDGE_DATABASE_URL", "postgresql://footnote:p%40ss-word@db/x", "p@ss-word"),
        ("FOOTNOTE_INDEXING_CACHE_URL", "redis://:hunter2hunter@cache", "hunter2hunter"),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMIK7MDENG", "wJalrXUtnFEMIK7MDENG"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=first-key,authorization=Bearer%20second-key", "second-key"),
    ],
)
def test_secrets_are_learnt_from_the_environment(name: str, value: str, secret: str) -> None:
    redact.learn({name: value})
    assert secret not in redact.redact(f"it said {secret}!")


def test_what_is_no_secret_stays() -> None:
    redact.learn(
        {"FOOTNOTE_TOKEN_BUDGET": "3000", "FOOTNOTE_TLS_KEY_FILE": "/etc/tls/key.pem", "DB_PASSWORD": "postgres"}
    )
    for text in (
        "Collection 'handbook' not found", "wait... and see", "…", "/etc/tls/key.pem", "3000 tokens", "postgres",
        "a trace 95fa440bf9a97767ebceb84ffdd0e0db", "https://api.example/v1/models", "mail ann@example.org", "sk-learn",
        "**bold** and * lists", "axxxxb",
    ):  # fmt: skip
        assert redact.redact(text) == text


@given(
    st.text(alphabet=st.characters(codec="utf-8"), min_size=12, max_size=60), st.text(max_size=40), st.text(max_size=40)
)
def test_any_secret_is_found_in_any_text(secret: str, before: str, after: str) -> None:
    known = redact.Secrets()
    known.add([secret])
    if secret.strip().lower() == secret and len(secret.strip()) >= 12:
        assert secret not in known.redact(f"{before}{secret}{after}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["a", ".", "*", "x", "://", "http://a", "bearer ", "sk-", "a.b", "a*", "%2B", "=", "sk-a", "…", "a…", KEY[:9]],
)
def test_the_work_is_linear_in_the_text(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[: size * 4]
        best = float("inf")
        for _ in range(5):
            started = time.thread_time()
            redact.redact(text)
            best = min(best, time.thread_time() - started)
        return best

    small, large = seconds(20_000), seconds(80_000)
    assert large < 10 * small + 0.02, f"{piece!r}: {small * 1000:.1f} ms, four times as long {large * 1000:.1f} ms"


def test_children_get_what_programs_need_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", f"postgresql://u:{KEY}@db/x")
    monkeypatch.setenv("HTTPS_PROXY", f"http://u:{KEY}@proxy")
    made = child_environment(MORE="1")
    assert made["MORE"] == "1"
    assert "PATH" in made
    assert KEY not in str(made)

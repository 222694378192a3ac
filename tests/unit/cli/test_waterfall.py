from io import StringIO

from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote_cli.render.waterfall import MAX_ALIKE, Waterfall, build_rows
from rich.console import Console

ORIGIN = 1_700_000_000_000_000_000


def span(
    span_id: str, parent: str, name: str, service: str, start_ms: float, end_ms: float, error: str = ""
) -> TraceSpan:
    result = TraceSpan(span_id=span_id, parent_span_id=parent, name=name, service=f"footnote-{service}", error=error)
    result.start_time.FromNanoseconds(ORIGIN + int(start_ms * 1e6))
    result.end_time.FromNanoseconds(ORIGIN + int(end_ms * 1e6))
    return result


def drawn(waterfall: Waterfall, width: int = 100) -> list[str]:
    console = Console(width=width, file=StringIO(), highlight=False)
    console.print(waterfall)
    output = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in output.splitlines()]


ASK = [
    span("c", "b", "/footnote.retrieval.v1.RetrievalService/Retrieve", "retrieval", 10, 40),
    span("a", "", "footnote ask", "cli", 0, 100),
    span("b", "a", "footnote.edge.v1.AnswersService/Ask", "edge", 5, 95),
    span("d", "c", "search dense", "retrieval", 12, 30),
    span("e", "c", "search lexical", "retrieval", 12, 20),
    span("f", "b", "/footnote.generation.v1.GenerationService/Generate", "generation", 50, 94, error="provider down"),
]


def test_draws_the_golden_waterfall_at_100_columns() -> None:
    assert drawn(Waterfall(ASK, "abc")) == [
        "Trace abc  100.0 ms, 6 spans in 4 services",
        "cli        footnote ask                   ██████████████████████████████████████████████   100.0 ms",
        "edge       └ AnswersService/Ask             █████████████████████████████████████████       90.0 ms",
        "retrieval    ├ RetrievalService/Retrieve      ██████████████                                30.0 ms",
        "retrieval    │ ├ search dense                  ████████                                     18.0 ms",
        "retrieval    │ └ search lexical                ████                                          8.0 ms",
        "generation   └ GenerationService/Generate                        ████████████████████       44.0 ms",
        "           ↳ provider down",
    ]


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in (40, 60, 80, 100, 200):
        assert max(map(len, drawn(Waterfall(ASK, "abc"), width))) <= width


def test_every_span_keeps_a_mark_and_short_ones_a_thin_one() -> None:
    lines = drawn(Waterfall([span("a", "", "all", "edge", 0, 1000), span("b", "a", "blink", "edge", 999.99, 1000)]))
    assert "▏" in lines[2]
    assert "█" not in lines[2]


def test_spans_without_their_parent_become_roots() -> None:
    rows = build_rows([span("x", "gone", "orphan", "edge", 5, 6), span("y", "", "root", "cli", 0, 1)])
    assert [row.label for row in rows] == ["root", "orphan"]


def test_the_callers_side_of_a_call_has_an_arrow() -> None:
    name = "/footnote.retrieval.v1.RetrievalService/Retrieve"
    rows = build_rows([span("a", "", name, "edge", 0, 9), span("b", "a", name, "retrieval", 1, 8)])
    assert [row.label for row in rows] == ["→ RetrievalService/Retrieve", "└ RetrievalService/Retrieve"]


def test_many_brothers_of_one_name_are_folded_into_a_line() -> None:
    children = [span(f"c{i}", "a", "embed", "indexing", i, i + 1) for i in range(20)]
    rows = build_rows([span("a", "", "index", "indexing", 0, 20), *children])
    assert len(rows) == 1 + MAX_ALIKE
    assert rows[-1].label == "└ … 17 more embed"
    assert rows[-1].start == 3
    assert rows[-1].duration == 17


def test_a_trace_without_spans_says_so() -> None:
    assert drawn(Waterfall([], "abc")) == ["No spans of this trace are kept any more."]


def test_stages_that_could_not_be_asked_are_named() -> None:
    assert drawn(Waterfall(ASK, "abc", ["indexing"]))[-1] == "Could not be asked for their spans: indexing."

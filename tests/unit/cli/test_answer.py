from footnote.edge.v1.answers_pb2 import AskCompleted
from footnote.types.v1 import answer_pb2
from footnote.types.v1.answer_pb2 import Answer, Citation, Degradation
from footnote_cli.render.answer import footnotes, nearest, notices, summary, unsupported_claims


def test_a_footnote_names_place_quote_and_verdict() -> None:
    citation = Citation(
        number=1, label="handbook.pdf, page 3", quote="27 days  of\npaid leave", support="VERDICT_SUPPORTED"
    )
    lines = footnotes([citation, citation], 0)
    assert [line.plain for line in lines] == ["[1] handbook.pdf, page 3 — “27 days of paid leave” (supported)"]


def test_a_footnote_names_the_model_that_confirmed_it() -> None:
    citation = Citation(number=1, label="a.txt", support="VERDICT_SUPPORTED", basis="BASIS_READ", reader="gpt-4o-mini")
    old = Citation(number=2, label="a.txt", support="VERDICT_SUPPORTED", basis="BASIS_READ")
    assert [line.plain for line in footnotes([citation, old], 0)] == [
        "[1] a.txt (supported: gpt-4o-mini has read it)",
        "[2] a.txt (supported: a model has read it)",
    ]


def test_the_passage_offered_with_a_refusal_is_shown_with_its_place() -> None:
    offered = Answer(nearest=Citation(label="handbook.pdf, page 3", quote="27 days of\npaid leave"))
    assert [line.plain for line in nearest(offered, 0)] == ["Nearest: handbook.pdf, page 3 — “27 days of paid leave”"]
    assert nearest(Answer(), 0) == []


def test_two_places_of_one_source_are_two_footnotes() -> None:
    cells = [Citation(number=1, label=f"stock.xlsx, sheet 'S', cell C{row}", quote=str(row)) for row in (2, 3)]
    assert len(footnotes(cells, 0)) == 2


def test_long_quotes_are_cut_and_wrapped_under_the_text() -> None:
    citation = Citation(number=12, label="guide.md, lines 4-9", quote="word " * 100, support="VERDICT_NOT_CONFIRMED")
    (line,) = footnotes([citation], 60)
    rows = line.plain.split("\n")
    assert max(map(len, rows)) <= 60
    assert all(row.startswith("     ") for row in rows[1:])
    assert line.plain.endswith("…” (not confirmed)")


def test_sentences_without_support_are_pointed_out_with_the_reason() -> None:
    answer = Answer(text="It has 140 rooms. Hello.", warnings=["A citation of source 7 was removed"])
    claim = answer.claims.add(support="VERDICT_UNSUPPORTED", reason="CLAIM_REASON_NOT_IN_SOURCE", stated="140")
    claim.span.end = 17
    assert [line.plain for line in unsupported_claims(answer)] == [
        "! unsupported: “It has 140 rooms.”: 140 is not in the source",
        "! A citation of source 7 was removed",
    ]
    claim.explanation = "« 140 » ne se trouve pas dans guide.md."
    assert (
        next(unsupported_claims(answer)).plain
        == "! unsupported: “It has 140 rooms.”: « 140 » ne se trouve pas dans guide.md."
    )


def test_degradations_say_their_effect_first() -> None:
    degradation = Degradation(
        stage="PIPELINE_STAGE_RETRIEVAL",
        reason="DEGRADATION_REASON_EMBEDDING_UNAVAILABLE",
        effect="Full text search only.",
    )
    assert [line.plain for line in notices([degradation])] == [
        "! Full text search only. (retrieval, EMBEDDING_UNAVAILABLE)"
    ]


def test_the_summary_counts_cited_sources_once() -> None:
    answer = Answer(provider="openai", model="gpt-x", usage=answer_pb2.Usage(prompt_tokens=1500, completion_tokens=20))
    answer.citations.add(number=2)
    answer.citations.add(number=2)
    completed = AskCompleted(answer=answer, trace_id="ab")
    completed.sources.add(number=1)
    completed.sources.add(number=2)
    completed.time_to_first_token.FromMilliseconds(150)
    lines = [line.plain for line in summary(completed, 1.25)]
    assert lines == [
        "1.2 s · first word after 150 ms · openai/gpt-x · 1 of 2 sources cited · 1 520 tokens",
        "trace ab",
    ]

"""Documents with marks of chat templates: answered from, with footnotes that still find their place in the file."""

import pytest
from footnote.edge.v1 import collections_pb2 as pb
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED
from support.edge_client import EdgeClient

pytestmark = [pytest.mark.full, pytest.mark.slow]

SENTENCES = {
    "valve": "The <start_of_turn>valve of the north boiler<end_of_turn> opens at 7 bar.",
    "crane": "The <|im_start|>crane of the harbour<|im_end|> lifts 42 tonnes since May.",
    "press": "In F# the press of hall nine is written a <| b, and its list is List<String>.",
}
QUESTIONS = {
    "valve": "At how many bar does the valve of the north boiler open?",
    "crane": "How many tonnes does the crane of the harbour lift?",
    "press": "How is the press of hall nine written in F#?",
}


@pytest.mark.parametrize("name", SENTENCES)
async def test_a_footnote_finds_the_sentence_in_the_file(edge: EdgeClient, name: str) -> None:
    collection = f"marks-{name}"
    await edge.stub.CreateCollection(pb.CreateCollectionRequest(collection=col.Collection(name=collection)))
    text = f"This is a list.\n\n{SENTENCES[name]}\n\nNothing follows."
    await edge.put(text.encode(), f"{name}.txt", collection=collection)
    done = await edge.answer(QUESTIONS[name], collections=[collection])
    citation = done.answer.citations[0]
    span = citation.locator.span
    source = next(one for one in done.sources if one.number == citation.number)
    assert citation.quote == source.text[citation.quote_span.start : citation.quote_span.end]
    found = text[text.index(SENTENCES[name]) :][: len(citation.quote)]
    assert [one for one in found if one.isalnum()] == [one for one in citation.quote if one.isalnum()]
    assert span.end > span.start
    # A bar in a sentence may divide cells of a table: what holds one is not taken for a quotation by every reading.
    allowed = {VERDICT_SUPPORTED} if name != "press" else {VERDICT_SUPPORTED, VERDICT_NOT_CONFIRMED}
    assert {claim.support for claim in done.answer.claims} <= allowed
    changed = [(old, new) for old, new in zip(found, citation.quote, strict=True) if old != new]
    assert changed == ([] if name == "press" else [("<", "‹"), (">", "›")] * 2)

"""Each passage is indexed under its document's title, for vectors and words, unless the collection disables it."""

import pytest
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1 import collection_pb2
from footnote_indexing.chunking.drafts import Drafter
from footnote_kit.collection_settings import resolve
from footnote_providers.builtin import embed
from footnote_text.lexical import lexical_text
from support.blocks import PARAGRAPH, block, placed

TITLE = "Megatron in 2019"


@pytest.mark.parametrize("header", [True, False])
def test_words_of_the_title_stand_above_each_passage(header: bool) -> None:
    chunking = collection_pb2.ChunkingSettings(size=100, overlap_percent=0, contextual_header=header)
    settings = resolve(collection_pb2.CollectionSettings(), collection_pb2.CollectionSettings(chunking=chunking))
    drafter = Drafter(Document(id="d", revision=1, language="en"), settings, lambda texts: embed(texts, 384))
    texts = [
        f"Layer number {number} of the network is trained on a machine of its own for a week." for number in range(4)
    ]
    drafts = drafter.feed(placed(block(PARAGRAPH, text) for text in texts))
    drafts += drafter.finish(ParsedMetadata(title=TITLE, language="en"))
    assert [draft.chunk.text for draft in drafts] == texts
    named = set(lexical_text(TITLE, "en").split())
    assert len(named) == 2
    for draft in drafts:
        assert draft.chunk.title == TITLE
        assert draft.embedded_text.startswith(TITLE) is header
        assert (named <= set(draft.lexical_text.split())) is header

"""Ordinary questions among awkward file names: none is limited to a file, and the answering passage is first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote_kit.testing import SCOPE
from support.awkward_files import FILES, KEPT_APART, WORKED_ON, Asked
from support.chunks import make_chunk
from support.library import Library, open_library

IDS = {filename: f"d{number}" for number, filename in enumerate(FILES)}


@pytest.fixture
async def library(uri: str) -> AsyncIterator[Library]:
    """A store that holds files with awkward names."""
    async with open_library(uri) as library:
        shelf = await library.add_collection("awkward", languages=("en", "fr", "de"))
        await library.add(
            shelf,
            [
                make_chunk(text, document_id=IDS[filename], ordinal=ordinal, filename=filename, language=language)
                for filename, (language, passages) in FILES.items()
                for ordinal, text in enumerate(passages)
            ],
        )
        yield library


def test_the_set_is_as_wide_as_it_was_asked_to_be() -> None:
    questions = [*WORKED_ON, *KEPT_APART]
    assert len(questions) >= 40
    assert len(FILES) >= 12
    assert {asked.language for asked in questions} == {"en", "fr", "de"}
    assert all(asked.passage < len(FILES[asked.filename][1]) for asked in questions)


@pytest.mark.parametrize("half", [WORKED_ON, KEPT_APART], ids=["worked on", "kept apart"])
async def test_the_passage_that_answers_wins_and_nothing_is_filtered_away(
    library: Library, half: Sequence[Asked]
) -> None:
    limited, lost = {}, {}
    for asked in half:
        found = await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, query=asked.text))
        if found.strategy_choice.named_filenames:
            limited[asked.text] = list(found.strategy_choice.named_filenames)
        best = found.chunks[0].chunk
        if (best.filename, best.ordinal) != (asked.filename, asked.passage):
            lost[asked.text] = (best.filename, best.ordinal)
    assert not limited
    assert not lost


async def test_the_same_files_are_searched_alone_when_they_are_named(library: Library) -> None:
    for filename in FILES:
        for written in (filename, f'"{filename}"'):
            found = await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, query=f"What is said in {written}?"))
            assert list(found.strategy_choice.named_filenames) == [filename]
            assert {scored.chunk.filename for scored in found.chunks} <= {filename}

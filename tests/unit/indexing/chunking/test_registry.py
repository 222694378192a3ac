"""Chunkers by id: ours by their folder, those of other packages watched."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from footnote.types.v1.collection_pb2 import CHUNKING_STRATEGY_NAMED, ChunkingSettings, ChunkingStrategy
from footnote_indexing.chunking import registry
from footnote_indexing.chunking.guard import Guarded
from footnote_indexing.chunking.model import Chunker, Cut, PlacedBlock, Sizes
from footnote_indexing.chunking.registration import Registration, Tools
from footnote_indexing.chunking.registry import make_chunker
from footnote_indexing.chunking.testing import CHUNKER, blocks
from footnote_kit.errors import Internal, InvalidArgument
from footnote_providers.builtin import embed
from support.chunking import PLAIN, settings

Cuts = list[Cut]


class EachBlock:
    """Sound: one chunk a block."""

    strategy = CHUNKING_STRATEGY_NAMED

    def __init__(self, sizes: Sizes, tools: Tools) -> None:
        self._blocks: list[PlacedBlock] = []

    def feed(self, blocks: Iterable[PlacedBlock]) -> Cuts:
        return [Cut(block.start, block.end) for block in blocks]

    def finish(self) -> Cuts:
        return []


def cut(make: Callable[[], Chunker]) -> Cuts:
    chunker = make()
    return [*chunker.feed(blocks()), *chunker.finish()]


def guarded(kind: Any) -> Guarded:
    return Guarded(Registration("theirs", kind), Sizes(300, 30), Tools(settings(), lambda texts: embed(texts, 8)))


def test_every_strategy_of_the_contract_has_a_chunker_of_its_name() -> None:
    names = {ChunkingStrategy.Name(one).removeprefix("CHUNKING_STRATEGY_").lower() for one in PLAIN}
    rest = {"UNSPECIFIED", "AUTO", "NAMED"}
    assert {one.removeprefix("CHUNKING_STRATEGY_") for one in ChunkingStrategy.keys()} == {  # noqa: SIM118
        *(name.upper() for name in names), *rest
    }  # fmt: skip
    assert names <= registry.ours().keys()


@pytest.mark.parametrize("check", CHUNKER)
@pytest.mark.parametrize("name", registry.ours())
def test_all_that_the_folder_holds_can_be_named_and_conform(name: str, check: Any) -> None:
    wanted = settings(strategy=CHUNKING_STRATEGY_NAMED, chunker=name)
    registry.check(wanted)
    check(lambda: make_chunker(CHUNKING_STRATEGY_NAMED, wanted, lambda texts: embed(texts, 8)))


@pytest.mark.parametrize("strategy", [*PLAIN, CHUNKING_STRATEGY_NAMED])
def test_a_name_that_there_is_not_is_refused(strategy: ChunkingStrategy.ValueType) -> None:
    with pytest.raises(InvalidArgument, match=r"must be one of .*fixed_window"):
        registry.check(ChunkingSettings(strategy=strategy, chunker="nobody"))
    with pytest.raises(InvalidArgument, match=r"must be one of .*fixed_window"):
        registry.check(ChunkingSettings(strategy=CHUNKING_STRATEGY_NAMED))


@pytest.mark.parametrize("check", CHUNKER)
def test_one_that_is_sound_passes_the_suite_though_watched(check: Any) -> None:
    check(lambda: guarded(EachBlock))


def broken(feed: Callable[[Cuts], Any], finish: Callable[[], Any] = list) -> type[EachBlock]:
    class Broken(EachBlock):
        def feed(self, blocks: Iterable[PlacedBlock]) -> Cuts:
            return feed(super().feed(blocks))

        def finish(self) -> Cuts:
            return finish()

    return Broken


def fails(*_: Any) -> Any:
    raise KeyError("the words of the document")


BROKEN = {
    "loses the first": (broken(lambda cuts: cuts[1:]), "left out text"),
    "loses one in between": (broken(lambda cuts: cuts[:1] + cuts[2:]), "left out text"),
    "loses the last": (broken(lambda cuts: cuts[:-1]), "left out text"),
    "loses all": (broken(lambda cuts: []), "left out text"),
    "ends too soon": (broken(lambda cuts: [Cut(cut.start, cut.end - 1) for cut in cuts]), "left out text"),
    "begins too late": (broken(lambda cuts: [Cut(cut.start + 1, cut.end) for cut in cuts]), "left out text"),
    "turns them round": (broken(lambda cuts: cuts[::-1]), "left out text"),
    "goes back": (broken(lambda cuts: [*cuts, cuts[0]]), "made a chunk of 0"),
    "empty": (broken(lambda cuts: [*cuts, Cut(cuts[-1].end, cuts[-1].end)]), "made a chunk"),
    "beyond the end": (broken(lambda cuts: [*cuts, Cut(cuts[-1].start, cuts[-1].end + 9)]), "made a chunk"),
    "before the beginning": (broken(lambda cuts: [Cut(-1, cuts[0].end)]), "made a chunk"),
    "raises": (broken(fails), "raised KeyError;"),
    "raises at the end": (broken(lambda cuts: cuts, fails), "raised KeyError;"),
    "returns nothing": (broken(lambda cuts: None), "raised TypeError;"),
    "cannot be made": (fails, "raised KeyError;"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_that_breaks_is_stopped_and_named_without_the_documents_words(name: str) -> None:
    kind, said = BROKEN[name]
    with pytest.raises(Internal, match=said) as stopped:
        cut(lambda: guarded(kind))
    assert "'theirs'" in stopped.value.message
    assert "words" not in stopped.value.message

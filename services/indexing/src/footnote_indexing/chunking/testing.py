"""The suite of chunkers, to be run in the pytest of a chunker's author.

@pytest.mark.parametrize("check", CHUNKER) def test_it_conforms(check): check(lambda: MyChunker(Sizes(200, 20)))

`make` returns a new chunker each time: one cuts one document. A check raises AssertionError with what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1.chunk_pb2 import CHUNK_LEVEL_PARENT

from footnote_indexing.chunking.model import Chunker, Cut, PlacedBlock

_HEADING, _PARAGRAPH = parsing_pb2.BLOCK_KIND_HEADING, parsing_pb2.BLOCK_KIND_PARAGRAPH
_ROW, _CODE = parsing_pb2.BLOCK_KIND_TABLE_ROW, parsing_pb2.BLOCK_KIND_CODE
_KINDS: tuple[tuple[parsing_pb2.BlockKind.ValueType, str], ...] = (
    (_HEADING, "Instruments"),
    (
        _PARAGRAPH,
        "The sextant was made in 1845. Its arc is of brass, as Dr. Müller says. 员工每年享有二十五天带薪年假。",
    ),
    (_ROW, "Name: barometer; Price: 980.50; Note: hangs in the hall"),
    (_ROW, "Name: theodolite; Price: 12.50; Note: stands on the hill"),
    (_CODE, "x = 1\n  y = 2\n\nprint(x + y)"),
    (_PARAGRAPH, "word " * 700 + "end."),
    (_PARAGRAPH, "unbroken" * 300),
    (_HEADING, "Nothing below this"),
)


def blocks(repeats: int = 3) -> list[PlacedBlock]:
    """Return a document with every kind of block, including long ones and one without a space."""
    found: list[PlacedBlock] = []
    start = 0
    for kind, text in _KINDS * repeats:
        block = parsing_pb2.Block(kind=kind, text=text, level=int(kind == _HEADING), table=int(kind == _ROW))
        block.locator.lines.first_line = block.locator.lines.last_line = len(found) + 1
        block.locator.span.start, block.locator.span.end = start, start + len(text)
        found.append(PlacedBlock(block, start, text))
        start += len(text) + 1
    return found


def _cuts(make: Callable[[], Chunker], batches: Sequence[Sequence[PlacedBlock]]) -> list[Cut]:
    chunker = make()
    return [*(cut for batch in batches for cut in chunker.feed(batch)), *chunker.finish()]


def cuts_in_reading_order(make: Callable[[], Chunker]) -> None:
    """Check that no cut begins before its predecessor, each has a positive length, and children lie within parents."""
    found = _cuts(make, [blocks()])
    assert found, "a document of many blocks gave no chunk"
    assert [cut.start for cut in found] == sorted(cut.start for cut in found), "chunks are not in reading order"
    for cut in found:
        assert cut.start < cut.end, f"a chunk is {cut.start}-{cut.end}"
        if cut.parent is not None:
            first, last = cut.parent
            assert first <= cut.start < cut.end <= last, f"a child is {cut.start}-{cut.end}, its parent {first}-{last}"


def loses_no_text(make: Callable[[], Chunker]) -> None:
    """Check that embedded chunks cover all text except white space, and neither begin nor end with white space."""
    placed = blocks()
    text = "".join(f"{block.text}\n" for block in placed)
    covered = bytearray(len(text))
    for cut in _cuts(make, [placed]):
        part = text[cut.start : cut.end]
        assert part and part == part.strip(), f"a chunk begins or ends with white space: '{part[:40]}'"
        if cut.level != CHUNK_LEVEL_PARENT:
            covered[cut.start : cut.end] = b"\1" * (cut.end - cut.start)
    lost = [at for at, character in enumerate(text) if not character.isspace() and not covered[at]]
    assert not lost, f"{len(lost)} characters are in no chunk, the first at {lost[0]}"


def does_not_depend_on_the_batches(make: Callable[[], Chunker]) -> None:
    """Check that single blocks give the same chunks as all blocks in one batch."""
    placed = blocks()
    assert _cuts(make, [[block] for block in placed]) == _cuts(make, [placed]), "one by one there are other chunks"


def takes_nothing(make: Callable[[], Chunker]) -> None:
    """Check that no blocks give no chunks, and that the chunker states its strategy."""
    assert make().strategy, "it does not say which strategy it is"
    assert _cuts(make, []) == [], "no blocks gave chunks"
    assert _cuts(make, [[], []]) == [], "empty batches gave chunks"


def keeps_nothing(make: Callable[[], Chunker]) -> None:
    """Check that the same document gives the same chunks again."""
    assert _cuts(make, [blocks(1)]) == _cuts(make, [blocks(1)]), "the second time there are other chunks"


CHUNKER: tuple[Callable[[Callable[[], Chunker]], None], ...] = (
    cuts_in_reading_order,
    loses_no_text,
    does_not_depend_on_the_batches,
    takes_nothing,
    keeps_nothing,
)

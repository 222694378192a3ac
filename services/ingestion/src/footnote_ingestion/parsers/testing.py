"""The suite of parsers, to be run in the pytest of a parser's author, on a sample file of its format.

@pytest.mark.parametrize("check", PARSER) def test_it_conforms(check, tmp_path): check(MyParser(), Path("sample.mine"),
tmp_path)

A check raises AssertionError with what came back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from footnote.stages.v1.parsing_pb2 import Block, BlockKind

from footnote_ingestion.parsers.base import FURNITURE, HEADING, MAX_BLOCK, BlockWriter, Limits, Parser, Properties
from footnote_ingestion.parsers.failures import TOO_LARGE, ParseError


def _read(parser: Parser, path: Path, limits: Limits | None = None) -> tuple[list[Block], Properties]:
    limits = limits or Limits()
    blocks: list[Block] = []
    parser.inspect(path, limits)
    return blocks, parser.parse(path, BlockWriter(blocks.append, limits), limits)


def reads_blocks_with_exact_places(parser: Parser, sample: Path, folder: Path) -> None:
    """Check that blocks exist, each with text and its exact span in the document's text; anchors lie inside it."""
    blocks, properties = _read(parser, sample)
    assert blocks, "the sample gave no block"
    assert properties.page_count >= 0, f"page_count is {properties.page_count}"
    text = "".join(f"{block.text}\n" for block in blocks)
    for block in blocks:
        span = block.locator.span
        assert block.text.strip(), "a block has no text"
        assert text[span.start : span.end] == block.text, f"at {span.start}-{span.end} stands not '{block.text[:60]}'"
        assert len(block.text) <= MAX_BLOCK, f"a block has {len(block.text)} characters"
        for one in block.anchors:
            inside = 0 <= one.span.start < one.span.end <= len(block.text)
            assert inside, f"an anchor at {one.span.start}-{one.span.end} of {len(block.text)} characters"


def says_what_each_block_is(parser: Parser, sample: Path, folder: Path) -> None:
    """Check kinds, heading levels (1 to 6, else 0) and table numbers from 1 in order; furniture comes last."""
    blocks, _ = _read(parser, sample)
    tables: list[int] = []
    kinds = [block.kind for block in blocks]
    text = [index for index, kind in enumerate(kinds) if kind != FURNITURE]
    assert text == list(range(len(text))), "there is text after page furniture"
    for block in blocks:
        assert block.kind in BlockKind.values() and block.kind, f"a block has kind {block.kind}"
        levels = range(1, 7) if block.kind == HEADING else range(1)
        assert block.level in levels, f"a block of kind {block.kind} has level {block.level}"
        if block.table and block.table not in tables:
            tables.append(block.table)
    assert tables == list(range(1, len(tables) + 1)), f"the tables have the numbers {tables}"


def reads_the_same_again(parser: Parser, sample: Path, folder: Path) -> None:
    """Check that no state is kept from one file to the next."""
    assert _read(parser, sample)[0] == _read(parser, sample)[0], "the second time there are other blocks"


def keeps_the_limits(parser: Parser, sample: Path, folder: Path) -> None:
    """Check that a text longer than allowed ends with TOO_LARGE."""
    try:
        _read(parser, sample, Limits(characters=3))
    except ParseError as error:
        assert error.reason == TOO_LARGE, f"it ended with reason {error.reason}"
    else:
        raise AssertionError("three characters were allowed, and more were read")


def survives_damage(parser: Parser, sample: Path, folder: Path) -> None:
    """Check that truncated, empty, damaged or random files are read as far as possible or raise ParseError."""
    whole = sample.read_bytes()
    half = len(whole) // 2
    spoilt = whole[:half] + bytes(255 - byte for byte in whole[half : half + 64]) + whole[half + 64 :]
    damaged = folder / f"damaged{sample.suffix}"
    for data in (b"", whole[:half], whole[:-1], spoilt, bytes(range(256)) * 16, b"\0" * 4096):
        damaged.write_bytes(data)
        try:
            _read(parser, damaged)
        except ParseError as error:
            assert str(error), "a failure has no words"
        except Exception as error:
            raise AssertionError(f"{len(data)} damaged bytes: {type(error).__name__}: {error}") from error


PARSER: tuple[Callable[[Parser, Path, Path], None], ...] = (
    reads_blocks_with_exact_places,
    says_what_each_block_is,
    reads_the_same_again,
    keeps_the_limits,
    survives_damage,
)

"""Our own parsers through the suite that we hand out, and broken ones that it finds."""

from pathlib import Path
from typing import Any

import pytest
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits, Properties
from footnote_ingestion.parsers.testing import PARSER
from footnote_ingestion.parsers.texts.plain import TextParser

SAMPLES = Path(__file__).resolve().parents[3] / "deploy" / "samples" / "handbook"


@pytest.mark.parametrize("check", PARSER)
@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_our_parsers_conform(check: Any, sample: str, tmp_path: Path) -> None:
    path = SAMPLES / sample
    check(parser_for(path.suffix[1:]), path, tmp_path)


class FallsOver(TextParser):
    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        path.read_text("ascii")
        return super().parse(path, out, limits)


class ReadsNothing(TextParser):
    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        return Properties()


class KnowsNoLimits(TextParser):
    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        roomy = BlockWriter(out._emit, Limits())
        return super().parse(path, roomy, Limits())


@pytest.mark.parametrize(
    ("parser", "name"),
    [
        (FallsOver(), "survives_damage"),
        (ReadsNothing(), "reads_blocks_with_exact_places"),
        (KnowsNoLimits(), "keeps_the_limits"),
    ],
)
def test_a_broken_parser_fails_the_check(parser: Any, name: str, tmp_path: Path) -> None:
    (check,) = [one for one in PARSER if one.__name__ == name]
    with pytest.raises(AssertionError):
        check(parser, SAMPLES / "emergency.txt", tmp_path)

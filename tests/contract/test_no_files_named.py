"""A contract names no file and no folder of a deployment: what travels does so in messages."""

import re
from pathlib import Path

import pytest

PROTOS = Path(__file__).resolve().parents[2] / "protos" / "footnote"
NAMED = re.compile(
    r"`(?:edge|ingestion|indexing|retrieval|augmentation|generation)/|data folder|\bfile `|deployment's folder"
    r"|\.(?:db|token|lock)\b"
)


def comments(text: str) -> str:
    """The comments of a contract in one line."""
    return " ".join(line.strip().lstrip("/ ") for line in text.splitlines() if line.strip().startswith("//"))


@pytest.mark.parametrize("path", sorted(PROTOS.rglob("*.proto")), ids=lambda path: path.name)
def test_no_contract_names_a_file_of_a_deployment(path: Path) -> None:
    assert NAMED.findall(comments(path.read_text())) == []


def test_a_file_that_was_named_would_be_seen() -> None:
    assert NAMED.search(comments("// as the file\n  // `indexing/epoch` of this deployment's folder names it"))


@pytest.mark.parametrize("stage", ["indexing", "retrieval"])
def test_the_two_that_share_the_layout_of_the_store_say_so(stage: str) -> None:
    said = comments((PROTOS / stage / "v1" / f"{stage}_service.proto").read_text())
    assert "one unit" in said

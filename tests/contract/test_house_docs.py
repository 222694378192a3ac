"""ARCHITECTURE.md and CONTRIBUTING.md speak of files that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for path in ROOT.glob("*/*/src/footnote_*") if path.is_dir()]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_NAMED = re.compile(r"`([\w./-]*(?:/|\.py|\.proto|\.toml|\.md)[\w./-]*)`|\]\(([\w./-]+)\)")


def named(page: str) -> set[str]:
    """Return the files and folders that a page names, without those that stand for others."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    return {one or other for one, other in _NAMED.findall(text)}


def there(name: str) -> bool:
    """Return whether a name is a file from the root, from a package, or from within one: `parsers/sniff.py`."""
    if (ROOT / name).exists():
        return True
    package, _, rest = name.partition("/")
    roots = [source for source in SOURCES if source.name == package] or SOURCES
    inside = rest if roots is not SOURCES else name
    return any((source / inside).exists() or any(source.glob(f"**/{inside}")) for source in roots)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    assert named(page) or page == "CHANGELOG.md"
    assert {name for name in named(page) if not there(name)} == set()


def test_a_name_that_is_nowhere_is_found_out() -> None:
    assert not there("footnote_edge/no_such_package.py")
    assert not there("chunking/no_such_file.py")
    assert there("chunking/drafts.py")

from collections.abc import Callable

import pytest
from footnote_cli.errors import CommandError
from footnote_cli.values import parse_duration, parse_metadata, parse_settings


def test_metadata_values_are_json_where_they_can_be() -> None:
    metadata = parse_metadata(["year=2026", "draft=true", "team=people", "note=a=b"])
    assert dict(metadata) == {"year": 2026, "draft": True, "team": "people", "note": "a=b"}


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("24h", 86400), ("1.5 d", 129600)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text).ToTimedelta().total_seconds() == seconds


def test_settings_nest_at_their_dots() -> None:
    pairs = ["chunking.size=800", "chunking.strategy=CHUNKING_STRATEGY_PARAGRAPH", "max_documents=5"]
    assert parse_settings(pairs) == {
        "chunking": {"size": 800, "strategy": "CHUNKING_STRATEGY_PARAGRAPH"},
        "max_documents": 5,
    }


@pytest.mark.parametrize(
    "call", [lambda: parse_metadata(["x"]), lambda: parse_duration("soon"), lambda: parse_settings(["=1"])]
)
def test_nonsense_is_a_wrong_call(call: Callable[[], object]) -> None:
    with pytest.raises(CommandError) as caught:
        call()
    assert caught.value.exit_code == 2

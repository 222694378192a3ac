import time
from collections.abc import Callable, Iterator

import pytest
from footnote.types.v1.filter_pb2 import Filter
from footnote_cli.errors import CommandError
from footnote_cli.render.text import moment
from footnote_cli.settings import parse_settings, show_settings
from footnote_cli.values import parse_duration, parse_filter, parse_metadata, parse_moment


def test_metadata_values_are_json_where_they_can_be() -> None:
    metadata = parse_metadata(["year=2026", "draft=true", "team=people", "note=a=b"])
    assert dict(metadata) == {"year": 2026, "draft": True, "team": "people", "note": "a=b"}


@pytest.mark.parametrize("text", ["12345678901234567890", "-9007199254740993", "1e999", "-1e999", "NaN", "-Infinity"])
def test_numbers_that_metadata_cannot_hold_stay_texts(text: str) -> None:
    metadata = parse_metadata([f"order={text}", f"orders=[1, {text}]"])
    assert metadata["order"] == text
    assert list(metadata["orders"]) == [1, text]


def test_the_largest_whole_numbers_stay_numbers() -> None:
    assert dict(parse_metadata([f"most={2**53}", f"least={-(2**53)}"])) == {"most": 2**53, "least": -(2**53)}


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("24h", 86400), ("1.5 d", 129600)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text).ToTimedelta().total_seconds() == seconds


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader's zone is nine hours before UTC."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_a_time_is_read_in_the_zone_that_it_is_shown_in() -> None:
    assert parse_moment("2026-01-31T09:00").ToJsonString() == "2026-01-31T00:00:00Z"
    assert moment(parse_moment("2026-01-31 09:00")) == "2026-01-31 09:00"
    assert parse_moment("2026-01-31T09:00Z").ToJsonString() == "2026-01-31T09:00:00Z"
    assert parse_moment("2026-01-31").ToJsonString() == "2026-01-30T15:00:00Z"


SETTINGS = {
    "chunking.size": "800",
    "chunking.strategy": "paragraph",
    "chunking.overlap_percent": "0",
    "chunking.parent_child": "true",
    "retrieval.dense_weight": "0.3",
    "retrieval.recency_half_life": "30d",
    "rerank.settings": '{"balance": 0.5}',
    "generation.model": "gpt=5",
    "generation.stop": '["END", "—"]',
    "max_documents": "5",
    "ttl": "90s",
}


def test_settings_are_shown_in_the_words_they_are_made_with() -> None:
    settings = parse_settings(f"{name}={value}" for name, value in SETTINGS.items())
    assert show_settings(settings) == SETTINGS
    assert settings.chunking.HasField("overlap_percent")
    assert parse_settings(["chunking.strategy=CHUNKING_STRATEGY_PARAGRAPH"]).chunking.strategy == 3


def test_an_empty_value_takes_a_setting_back() -> None:
    assert parse_settings(["generation.provider="]).generation.provider == ""


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("chunking.sise=5", "There is no setting 'chunking.sise'. Did you mean chunking.size"),
        ("chunking=5", "There is no setting 'chunking'."),
        ("ttl.seconds=5", "There is no setting 'ttl.seconds'."),
        ("chunking.strategy=pages", "cannot be 'pages'. Choose one of: auto, fixed_window, paragraph"),
        ("chunking.size=big", "chunking.size cannot be 'big'. Write a number."),
        ("chunking.size=true", "chunking.size cannot be 'true'. Write a number."),
        ("chunking.size=99999999999", "The settings cannot be read"),
        ("generation.strict=maybe", "Write true or false."),
        ("generation.stop=END", "Write it as JSON"),
        ("ttl=soon", "'soon' is not a duration."),
        ("size", "'size' is not a setting."),
    ],
)
def test_a_wrong_setting_is_explained(pair: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_settings([pair])
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_filter_is_passed_on_as_it_is() -> None:
    assert parse_filter('{"year": {"$gte": 2024}}') == Filter(json='{"year": {"$gte": 2024}}')
    assert parse_filter(" ") is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: parse_metadata(["x"]),
        lambda: parse_duration("soon"),
        lambda: parse_settings(["=1"]),
        lambda: parse_filter("{"),
        lambda: parse_filter("[]"),
    ],
)
def test_nonsense_is_a_wrong_call(call: Callable[[], object]) -> None:
    with pytest.raises(CommandError) as caught:
        call()
    assert caught.value.exit_code == 2

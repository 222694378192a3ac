from datetime import UTC, datetime

import pytest
from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse, PlanQueryResponse
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.generation.v1.generation_service_pb2 import GenerateCompleted
from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.types.v1.answer_pb2 import Answer, Source
from footnote.types.v1.collection_pb2 import (
    Collection,
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
)
from footnote.types.v1.reasons_pb2 import QUERY_REWRITING_TOPIC, QUERY_STRATEGY_FOLLOW_UP
from footnote_edge.asking.manifests import ManifestBuilder
from footnote_edge.asking.timings import degrades
from footnote_edge.conversations.origins import Origin
from footnote_edge.documents.documents import expiry
from footnote_edge.jobs.chores import shortened
from footnote_kit.errors import FootnoteError, Internal, InvalidArgument, NotFound, Unavailable


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        (Unavailable("x"), True),
        (Internal("x"), True),
        (InvalidArgument("x"), False),
        (NotFound("x", reason="Y"), False),
    ],
)
def test_only_our_own_failures_degrade(error: FootnoteError, goes_on: bool) -> None:
    assert degrades(error) is goes_on


def test_the_manifest_says_what_the_answer_rests_on() -> None:
    source = Source(number=1, chunk_id="c", document_id="d", revision=3, text="words", score=0.5)
    record = ManifestBuilder(AskRequest(filter={"json": "{}"}, document_ids=["d"]), "q")
    record.planned(
        PlanQueryResponse(query="topic q", strategy=QUERY_STRATEGY_FOLLOW_UP, rewriting=QUERY_REWRITING_TOPIC),
        "q (topic)",
    )
    record.settings(PromptSettings(), RerankSettings(), GenerationSettings(model="m", temperature=0.5))
    built = BuildPromptResponse(prompt=Prompt(hash="h", template_version="t/1"), sources=[source])
    made = record.finish(
        built, GenerateCompleted(answer=Answer(provider="p", model="m1")), [Origin("k", "d", 3)], local_only=True
    )
    assert (made.prompt_hash, made.template_version, made.model) == ("h", "t/1", "m1")
    assert made.generation == GenerationSettings(model="m", temperature=0.5)
    assert made.full_question == "q (topic)"
    assert (made.question, made.query, made.filter.json, list(made.document_ids)) == ("q", "topic q", "{}", ["d"])
    assert (made.query_strategy, made.query_rewriting) == (QUERY_STRATEGY_FOLLOW_UP, QUERY_REWRITING_TOPIC)
    assert made.local_only
    assert [(one.collection_id, one.document_id, one.revision) for one in made.origins] == [("k", "d", 3)]
    counted = GenerateCompleted(settings=GenerationSettings(model="m1", max_tokens=9))
    assert record.finish(built, counted, [], local_only=False).generation == counted.settings
    assert (made.sources[0].chunk_id, made.sources[0].revision, len(made.sources[0].text_hash)) == ("c", 3, 64)


def test_an_upload_expires_by_its_own_time_else_the_collections() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    settings = CollectionSettings()
    assert expiry(Collection(settings=settings), None, now) is None
    settings.ttl.seconds = 60
    assert expiry(Collection(settings=settings), None, now) == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert expiry(Collection(settings=settings), 5, now) == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    for wrong in (0, -1, 3_153_600_001, 315_576_000_000):  # the last is the longest Duration
        with pytest.raises(InvalidArgument):
            expiry(Collection(), wrong, now)


def test_a_title_is_cut_between_words() -> None:
    assert shortened("  a short\nquestion ") == "a short question"
    long = shortened("what is the " + "very " * 20 + "long question")
    assert len(long) <= 60
    assert long.endswith("very…")
    assert len(shortened("x" * 100)) == 60

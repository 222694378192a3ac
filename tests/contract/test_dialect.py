"""The contracts speak one dialect: one name for one thing, one way to page, to change and to score.

Read from the descriptors, so that a new message is held to it as well.
"""

import re
from collections.abc import Iterator
from importlib import resources

import pytest
from google.api.field_behavior_pb2 import field_behavior
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

OTHER_NAMES = {
    "uploaded_by": "owner_id",
    "created_by": "owner_id",
    "where": "filter",
    "reading_warnings": "warnings",
    "next_token": "next_page_token",
    "total": "total_size",
}
"""Names that things had, and the one that they have."""
COUNTS = {"Operation", "PagesRead"}
"""Messages whose `total` is not the size of a list."""
OFFSETS = {"footnote.edge.v1.QueryChunksRequest", "footnote.retrieval.v1.QueryChunksRequest"}
"""Only for the paths under /collections, which know no tokens."""
REUSED_NAMES = {
    "GenerationSettings": ("stop",),
    "Source": ("suspicion_reasons",),
    "Claim": ("reason",),
    "AnswerManifest": ("query_strategy",),
    "ParsedMetadata": ("warnings",),
}
"""Names of fields whose number is reserved, which another number has today: a name in use cannot be reserved."""
NEVER_USED = {"AskRequest": 5}
"""Reserved numbers that no field ever had."""
REPEATED_SAFELY = {
    "ReplayAnswer": "makes an answer and keeps nothing",
    "CreateFeedback": "the newest one of a user on an answer counts",
    "CancelDocument": "what is cancelled already stays so",
    "SyncSource": "a source that is read already is not read twice at once",
    "UploadDocument": "in its metadata",
    "UploadDocuments": "in the metadata of each file",
    "ReplaceDocument": "in its metadata",
}
"""Calls of the public API that are not idempotent and take no `request_id` themselves, with why."""
UNIT_IN_A_NAME = re.compile(r"_(?:ms|seconds|minutes|hours|days|at)$")
MOMENTS = re.compile(r"(?:.*_)?time|time_value|created_(?:after|before)|since|away_since|until")
"""Names of points in time: what happened then, or where a range begins and ends."""
UPDATES_WITHOUT_MASK = {"UpdateDocumentStateRequest", "UpdateDocumentChunksRequest"}
"""State transitions and copies of a record between stages; they do not edit a resource."""


def files() -> list[FileDescriptorProto]:
    data = (resources.files("footnote") / "contracts.binpb").read_bytes()
    return [one for one in FileDescriptorSet.FromString(data).file if one.package.startswith("footnote.")]


FILES = files()


def messages() -> Iterator[tuple[str, DescriptorProto]]:
    for file in FILES:
        for message in file.message_type:
            yield f"{file.package}.{message.name}", message


MESSAGES = dict(messages())


def fields() -> Iterator[tuple[str, FieldDescriptorProto, str]]:
    """Yield each field with the full name of its message and its comment."""
    for file in FILES:
        comments = {tuple(one.path): one.leading_comments for one in file.source_code_info.location}
        for place, message in enumerate(file.message_type):
            for index, field in enumerate(message.field):
                comment = " ".join(comments.get((4, place, 2, index), "").split())
                yield f"{file.package}.{message.name}", field, comment


def names(message: str) -> set[str]:
    return {field.name for field in MESSAGES[message].field}


def test_one_thing_has_one_name() -> None:
    wrong = {
        f"{owner}.{field.name}: {OTHER_NAMES[field.name]}"
        for owner, field, _ in fields()
        if field.name in OTHER_NAMES and not (field.name == "total" and owner.rpartition(".")[2] in COUNTS)
    }
    assert wrong == set()


def test_warnings_are_typed_and_filters_are_filters() -> None:
    kinds = {"filter": ".footnote.types.v1.Filter", "update_mask": ".google.protobuf.FieldMask"}
    for owner, field, _ in fields():
        assert field.type_name == kinds.get(field.name, field.type_name), f"{owner}.{field.name}"
        if field.name == "warnings" and not owner.endswith(".Answer"):
            assert field.type_name == ".footnote.types.v1.ReadingWarning", owner


def test_durations_and_moments_have_types_of_their_own() -> None:
    """Numbers are not durations, and texts are not timestamps."""
    for owner, field, _ in fields():
        where = f"{owner}.{field.name}"
        assert not UNIT_IN_A_NAME.search(field.name), where
        if field.type_name == ".google.protobuf.Timestamp":
            assert MOMENTS.fullmatch(field.name), where
        if re.search(r"(?<!_by)_time$", field.name):
            assert field.type_name == ".google.protobuf.Timestamp", where


def test_ids_are_texts_and_several_are_named_so() -> None:
    for owner, field, _ in fields():
        if field.name.endswith(("_id", "_ids")) or field.name in ("id", "ids"):
            several = field.label == FieldDescriptorProto.LABEL_REPEATED
            assert field.type == FieldDescriptorProto.TYPE_STRING, f"{owner}.{field.name}"
            assert several == field.name.endswith("ids"), f"{owner}.{field.name}"


def test_no_message_is_within_another_where_these_rules_would_miss_it() -> None:
    within = {f"{name}.{one.name}" for name, message in MESSAGES.items() for one in message.nested_type}
    assert within == set()


def test_field_numbers_have_no_holes() -> None:
    for name, message in MESSAGES.items():
        known = {field.number for field in message.field}
        reserved = {number for one in message.reserved_range for number in range(one.start, one.end)}
        assert known | reserved == set(range(1, max(known | reserved, default=0) + 1)), name


RESERVING: list[tuple[str, DescriptorProto | EnumDescriptorProto]] = [
    (one.name, one) for file in FILES for one in (*file.message_type, *file.enum_type) if one.reserved_range
]


@pytest.mark.parametrize(("name", "one"), RESERVING, ids=[name for name, _ in RESERVING])
def test_reserved_numbers_come_with_their_names(name: str, one: DescriptorProto | EnumDescriptorProto) -> None:
    last = 1 if isinstance(one, EnumDescriptorProto) else 0  # an enum's ranges include their end
    numbers = sum(part.end + last - part.start for part in one.reserved_range)
    reused = REUSED_NAMES.get(name, ())
    assert numbers == len(one.reserved_name) + len(reused) + NEVER_USED.get(name, 0)
    if isinstance(one, DescriptorProto):
        assert set(reused) <= {field.name for field in one.field}


def test_all_fields_of_a_message_say_what_they_are_or_none() -> None:
    """A field that says nothing beside some that do would be taken for one that a caller may set."""
    for name, message in MESSAGES.items():
        saying = {field.name for field in message.field if field.options.Extensions[field_behavior]}
        assert saying in (set(), names(name)), name


def test_lists_are_paged_by_token_alone() -> None:
    for name in MESSAGES:
        asked, answer = name, name.removesuffix("Request") + "Response"
        if not name.endswith("Request") or answer not in MESSAGES:
            continue
        assert ("page_token" in names(asked)) == ("next_page_token" in names(answer)), name
        assert ("offset" in names(asked)) == (name in OFFSETS), name
        if "page_size" in names(asked):
            assert "page_token" in names(asked), name


def test_updates_have_a_resource_and_a_mask() -> None:
    found = [one for one in MESSAGES if ".Update" in one and one.endswith("Request")]
    assert len(found) >= 6
    for name in found:
        if name.rpartition(".")[2] not in UPDATES_WITHOUT_MASK:
            assert {"resource", "update_mask"} <= names(name), name
            assert "etag" not in names(name), f"{name}: it is the resource's"


def test_each_kind_of_operation_has_its_details() -> None:
    [file] = [one for one in FILES if one.name == "footnote/edge/v1/operations.proto"]
    [kinds] = [one for one in file.enum_type if one.name == "OperationKind"]
    details = {field.name for field in MESSAGES["footnote.edge.v1.Operation"].field if field.HasField("oneof_index")}
    assert details == {one.name.removeprefix("OPERATION_KIND_").lower() for one in kinds.value if one.number}


def test_scores_mean_one_thing() -> None:
    said = {owner: comment for owner, field, comment in fields() if field.name == "score"}
    assert len(said) >= 5
    assert all("0..1" in comment for comment in said.values()), said
    assert said["footnote.edge.v1.ScoredChunk"] == said["footnote.stages.v1.ScoredChunk"]


def test_what_may_be_repeated_under_an_id_takes_one() -> None:
    """Whatever makes something, or replaces it, by a call that is not idempotent by itself."""
    for name in ("UploadMetadata", "ReplaceMetadata", "CreateCollectionRequest", "CreateConversationRequest"):
        assert "request_id" in names(f"footnote.edge.v1.{name}"), name
    for name in ("UploadMetadata", "ReplaceMetadata"):
        assert "request_id" in names(f"footnote.ingestion.v1.{name}"), name


def test_every_call_that_is_not_idempotent_takes_a_request_id_or_says_why_not() -> None:
    without = {
        method.name
        for file in FILES
        if file.package == "footnote.edge.v1"
        for service in file.service
        for method in service.method
        if not method.options.idempotency_level and "request_id" not in names(method.input_type[1:])
    }
    assert without == REPEATED_SAFELY.keys()

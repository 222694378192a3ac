"""Values that programs act on are enums: no field whose name promises one is a string."""

import re
from collections.abc import Iterator
from importlib.resources import files

import footnote
from footnote.types.v1 import reasons_pb2
from footnote_cli.render import reasons
from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet

PROMISES = re.compile(
    r"(?:^|_)(?:reasons?|strategy|strategies|kinds?|states?|status|decision|verdict|mode|cause|effect|because|what)$"
)
"""Names that say which of several things it is."""
PROSE = {
    "footnote.types.v1.Degradation.effect": "a sentence for people; the reason beside it is an enum",
    "footnote.types.v1.DocumentOrigin.kind": "the id of a registered kind of source, which packages add to",
    "footnote.edge.v1.Source.kind": "the id of a registered kind of source, which packages add to",
    "footnote.stages.v1.TextBounds.because": "completes the message of an error, whose own reason is an enum",
}
"""Strings with such a name, each with why it is one."""
WORDS = {
    reasons_pb2.SearchStrategyReason.DESCRIPTOR: reasons.STRATEGY,
    reasons_pb2.SearchFallback.DESCRIPTOR: reasons.FALLBACK,
    reasons_pb2.ScoreAdjustmentKind.DESCRIPTOR: reasons.ADJUSTMENT,
    reasons_pb2.ClaimReason.DESCRIPTOR: reasons.CLAIM,
}
"""Enums that the command line shows, with their words."""


def strings(prefix: str, message: DescriptorProto) -> Iterator[str]:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_STRING:
            yield f"{prefix}.{message.name}.{field.name}"
    for nested in message.nested_type:
        yield from strings(f"{prefix}.{message.name}", nested)


def every_string() -> list[str]:
    image = FileDescriptorSet.FromString((files(footnote) / "contracts.binpb").read_bytes())
    ours = [file for file in image.file if file.package.startswith("footnote.")]
    return [name for file in ours for message in file.message_type for name in strings(file.package, message)]


def test_no_string_stands_where_its_name_promises_a_value() -> None:
    every = every_string()
    assert len(every) > 300
    promising = {name for name in every if PROMISES.search(name.rpartition(".")[2])}
    assert promising - PROSE.keys() == set(), "make it an enum with its parameters, or list why it is for people"
    assert PROSE.keys() - promising == set(), "listed, but not there any more"


def test_every_value_that_is_shown_has_its_words() -> None:
    for enum, words in WORDS.items():
        assert words.keys() == values(enum), enum.full_name


def values(enum: EnumDescriptor) -> set[int]:
    return {number for number in enum.values_by_number if number}

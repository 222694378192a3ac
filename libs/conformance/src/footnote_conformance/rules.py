"""The rules to check: the sentences of the contracts' comments, by the element that they describe."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import footnote
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

_SHARED = ("footnote.stages.v1", "footnote.types.v1")
_IMAGE = "contracts.binpb"
# Field numbers in the descriptor messages: the steps of a location's path.
_INSIDE: dict[str, dict[int, str]] = {
    "FileDescriptorProto": {4: "message_type", 5: "enum_type", 6: "service"},
    "DescriptorProto": {2: "field", 3: "nested_type", 4: "enum_type", 8: "oneof_decl"},
    "EnumDescriptorProto": {2: "value"},
    "ServiceDescriptorProto": {2: "method"},
}


def places_of(stage: str, rule: str) -> list[str]:
    """Return the elements whose comments contain a sentence, in the stage's contract and its shared types.

    A sentence that several elements have is written with its element: "RetrieveResponse.chunks: Best first."
    """
    element, colon, sentence = rule.partition(": ")
    named = [name for name in comments(stage) if colon and name.endswith(f".{element}")]
    wanted = _plain(sentence if named else rule)
    return [name for name in named or comments(stage) if wanted in comments(stage)[name]]


@cache
def comments(stage: str) -> Mapping[str, str]:
    """Return the comments that apply to a stage, each on one line, by the full name of their element."""
    image = FileDescriptorSet.FromString((files(footnote) / _IMAGE).read_bytes())
    found: dict[str, str] = {}
    for package in (f"footnote.{stage}.v1", *_SHARED):
        for file in image.file:
            if file.package == package:
                found.update(_comments(file))
    return found


def _comments(file: FileDescriptorProto) -> Iterator[tuple[str, str]]:
    for location in file.source_code_info.location:
        if location.leading_comments:
            name = _name(file, list(location.path))
            if name:
                yield name, _plain(location.leading_comments)


def _name(file: FileDescriptorProto, path: list[int]) -> str:
    """Return the full name of the element at a path; "" for options and the like."""
    here: Any = file
    names = [file.package]
    while path:
        steps = _INSIDE.get(here.DESCRIPTOR.name, {})
        if len(path) < 2 or path[0] not in steps:
            return ""
        here = getattr(here, steps[path[0]])[path[1]]
        names.append(here.name)
        path = path[2:]
    return ".".join(names) if len(names) > 1 else ""


def _plain(text: str) -> str:
    return " ".join(text.split())

"""Every request is checked against its contract: unknown enum numbers and broken bounds are reported by path."""

import re
from importlib import import_module

import pytest
from footnote.edge.v1.keys_pb2 import CreateKeyRequest
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.types.v1 import collection_pb2
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_kit import validation
from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from support.complete_requests import complete
from support.doubles.services import STAGES, contract

EVERY_RPC = [*METHODS, *(method for stage in STAGES for method in contract(stage)[1].methods)]


def enums(descriptor: Descriptor, seen: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the path of every enum field in a type, recursion left out."""
    if descriptor.full_name in seen or descriptor.full_name.startswith("google.protobuf."):
        return []
    found = []
    for field in descriptor.fields:
        if field.enum_type is not None:
            found.append((field.name,))
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            found += [(field.name, *rest) for rest in enums(field.message_type, (*seen, descriptor.full_name))]
    return found


def place(message: Message, path: tuple[str, ...], number: int) -> None:
    """Set the enum at a path, making the messages and list elements on the way."""
    name, *rest = path
    field = message.DESCRIPTOR.fields_by_name[name]
    if not rest and field.is_repeated:
        getattr(message, name).append(number)
    elif not rest:
        setattr(message, name, number)
    else:
        inner = getattr(message, name)
        if field.is_repeated:  # an element that is there has all that it needs
            inner = inner[0] if inner else inner.add()
        place(inner, tuple(rest), number)


@pytest.mark.parametrize("method", EVERY_RPC, ids=lambda method: method.full_name)
def test_an_unknown_enum_number_is_refused_wherever_it_stands(method: MethodDescriptor) -> None:
    import_module(method.input_type.file.name.removesuffix(".proto").replace("/", ".") + "_pb2")
    for path in enums(method.input_type):
        request = complete(method)
        place(request, path, 98765)
        with pytest.raises(InvalidArgument) as caught:
            validation.check(request)
        ((field, problem),) = caught.value.violations
        assert re.sub(r"\[\d\]", "", field) == ".".join(path)
        assert problem == "has no value 98765"
        known = complete(method)
        place(known, path, 1)
        validation.check(known)


def test_there_are_enums_to_check() -> None:
    assert sum(len(enums(method.input_type)) for method in EVERY_RPC) > 20


def test_a_request_within_its_contract_passes() -> None:
    validation.check(retrieval.RetrieveRequest(query="q", collections=["a"]))


def test_what_is_required_is_missed_by_its_path_and_inside_lists() -> None:
    with pytest.raises(InvalidArgument) as caught:
        validation.check(generation.VerifyStatementsRequest(statements=[{"text": "a"}, {"sources": [1]}]))
    assert list(caught.value.violations) == [("statements[1].text", "is required")]


def test_all_problems_are_told_but_not_a_million_of_them() -> None:
    settings = collection_pb2.RetrievalSettings(strategy=77, fusion=78)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"settings.strategy has no value 77; settings.fusion has no value 78"):
        validation.check(retrieval.RetrieveRequest(settings=settings))
    grants = [collection_pb2.Grant(user_id="u", access=9)] * 1000  # type: ignore[arg-type]
    many = indexing.CreateCollectionRequest(collection=collection_pb2.Collection(grants=grants))
    with pytest.raises(InvalidArgument) as caught:
        validation.check(many)
    assert len(caught.value.violations) == validation.MOST_SHOWN
    assert caught.value.violations[1] == ("collection.grants[1].access", "has no value 9")


def test_large_bounds_are_said_in_whole_numbers() -> None:
    with pytest.raises(InvalidArgument) as caught:
        validation.check(CreateKeyRequest(label="x", role=ROLE_READER, ttl=Duration(seconds=-5)))
    assert list(caught.value.violations) == [("ttl", "must be between 1 and 3155760000")]

"""What each field of a request or resource is to its caller is written in the contract, and is so.

From the descriptors: every field says REQUIRED, OPTIONAL, OUTPUT_ONLY, IMMUTABLE or IDENTIFIER; what is REQUIRED is
refused where it is absent, before a handler runs; what is OUTPUT_ONLY does not reach a handler of the public API.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from footnote_edge.gateway import sizes
from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument
from footnote_kit.field_behavior import behaviors, clear_outputs, is_output_only, is_required
from footnote_kit.testing import SCOPE, serve_app
from footnote_kit.validation import REFUSED_ELSEWHERE
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from support.complete_requests import call, complete, is_head
from support.doubles.services import STAGES, contracts, empty_stage, message_class
from support.filled_messages import filled

RESOURCES = {
    f"footnote.edge.v1.{name}"
    for name in ("Chunk", "Conversation", "ConversationMessage", "Document", "Feedback", "Key", "Operation")
} | {"footnote.types.v1.Collection", "footnote.types.v1.Provider"}
SERVICES = [(stage, service) for stage in (*STAGES, "edge") for _, service in contracts(stage)]
ALL = [(stage, method) for stage, service in SERVICES for method in service.methods]


def within(descriptor: Descriptor) -> Iterator[Descriptor]:
    """Yield a message and what it holds, ours alone."""
    seen: set[str] = set()
    waiting = [descriptor]
    while waiting:
        here = waiting.pop()
        if here.full_name in seen or not here.full_name.startswith("footnote."):
            continue
        seen.add(here.full_name)
        yield here
        waiting += [field.message_type for field in here.fields if field.message_type and not is_output_only(field)]


def messages() -> dict[str, Descriptor]:
    found = {one.full_name: one for _, method in ALL for one in within(method.input_type)}
    for _, method in ALL:
        for answer in method.output_type.fields:
            if answer.message_type and answer.message_type.full_name in RESOURCES:
                found[answer.message_type.full_name] = answer.message_type
    return found


def test_every_field_of_requests_and_resources_says_what_it_is() -> None:
    found = messages()
    assert RESOURCES - {"footnote.edge.v1.ConversationMessage"} <= set(found)
    silent = {field.full_name for one in found.values() for field in one.fields if not behaviors(field)}
    assert silent == set()


def paths(descriptor: Descriptor, before: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Yield the way to every REQUIRED field that the kit refuses when it is absent."""
    if descriptor.full_name in REFUSED_ELSEWHERE:
        return
    for field in descriptor.fields:
        here = (*before, field)
        if is_required(field) and field.name != "scope":
            yield here
        if field.message_type and not field.is_repeated and (is_required(field) or is_head(field)):
            yield from paths(field.message_type, here)


@pytest.mark.parametrize("stage", [*STAGES, "edge"])
async def test_what_is_required_is_refused_where_it_is_absent(stage: str) -> None:
    reached: list[str] = []
    tried = 0
    async with serve_app(empty_stage(stage, reached)) as served:
        for _, service in contracts(stage):
            for method in service.methods:
                for path in paths(method.input_type):
                    request = complete(method, SCOPE)
                    holder = request
                    for field in path[:-1]:
                        holder = getattr(holder, field.name)
                    holder.ClearField(path[-1].name)
                    name = ".".join(field.name for field in path)
                    with pytest.raises(InvalidArgument) as caught:
                        await call(served.channel, service.full_name, method, request)
                    assert caught.value.reason == "INVALID_FIELD", (method.full_name, name)
                    assert name in [one.field for one in caught.value.violations], method.full_name
                    tried += 1
                assert reached == [], method.full_name
        for _, service in contracts(stage):
            for method in service.methods:
                await call(served.channel, service.full_name, method, complete(method, SCOPE))
                assert reached.pop() == method.name
    assert tried


def outputs(message: Message, path: str = "") -> Iterator[str]:
    """Yield the OUTPUT_ONLY fields that hold something."""
    for field, value in message.ListFields():
        if is_output_only(field):
            yield f"{path}{field.name}"
        elif field.message_type and not field.message_type.full_name.startswith("google."):
            for one in value if field.is_repeated else [value]:
                yield from outputs(one, f"{path}{field.name}.")


UNARY = [method for method in METHODS if not method.client_streaming]
WITH_OUTPUTS = [method for method in UNARY if list(outputs(filled(message_class(method.input_type))))]


def test_some_requests_hold_what_only_the_server_fills_in() -> None:
    assert {method.name for method in WITH_OUTPUTS} == {
        "CreateCollection", "UpdateCollection", "UpdateConversation", "UpdateDocument",
        "UpdateTenantLimits", "CreateSource", "UpdateSource", "CreateEvaluationRun",
    }  # fmt: skip


@pytest.mark.parametrize("method", WITH_OUTPUTS, ids=lambda method: method.name)
async def test_what_only_the_server_fills_in_does_not_reach_a_handler(method: MethodDescriptor) -> None:
    seen: list[Any] = []

    async def handler(self: Any, request: Any, context: Any) -> None:
        seen.append(request)

    async def stream(self: Any, request: Any, context: Any) -> Any:
        yield request

    edge: Any = sizes.bounded(
        type("Edge", (), {one.name: stream if one.server_streaming else handler for one in METHODS})
    )()
    request = filled(message_class(method.input_type))
    clean = type(request)()
    clean.CopyFrom(request)
    clear_outputs(clean)
    assert list(outputs(request))
    await getattr(edge, method.name)(request, None)
    assert list(outputs(seen[0])) == []
    assert seen[0] == clean

"""The contracts' promises for every stage, pagination included; fields and methods come from the descriptors."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.field_behavior import is_required
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from footnote_conformance import violations
from footnote_conformance.stages import proofs
from footnote_conformance.stages.asking import INVALID, at_once, refused
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import SECONDS, Refusal, Target, contract_of, refusal_of, request_of

_REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
_MISSING = ("UNAUTHENTICATED", "SCOPE_MISSING")
_ALLOWED = {
    "INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "FAILED_PRECONDITION", "UNAVAILABLE", "RESOURCE_EXHAUSTED",
    "ABORTED",
}  # fmt: skip
_SIDE_BY_SIDE = 16
_AFTER_DEADLINE = 5.0


def add_to(suite: Suite) -> None:
    """Add the common checks, before the stage's own."""
    _of_the_server(suite)
    _of_the_scope(suite)
    _of_the_fields(suite)
    _of_time(suite)


def _of_the_server(suite: Suite) -> None:
    @suite.check(
        "It serves the standard health service, grpc.health.v1: SERVING for the empty name and for the full name of "
        "its service."
    )
    async def health_is_served(target: Target) -> None:
        stub = health_pb2_grpc.HealthStub(target.stage.channel)
        for name in ("", target.stage.contract.full_name):
            answer = await _plain(stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=SECONDS))
            expect(answer.status == health_pb2.HealthCheckResponse.SERVING, f"'{name}' has status {answer.status}")

    @suite.check("It serves reflection, grpc.reflection.v1, which lists its service and finds its file.")
    async def reflection_is_served(target: Target) -> None:
        wanted = target.stage.contract.full_name
        listed = await _reflected(target, reflection_pb2.ServerReflectionRequest(list_services=""))
        names = [service.name for service in listed.list_services_response.service]
        expect(wanted in names, f"it lists {', '.join(names)}, without {wanted}")
        found = await _reflected(target, reflection_pb2.ServerReflectionRequest(file_containing_symbol=wanted))
        expect(found.file_descriptor_response.file_descriptor_proto, f"no file with {wanted}: {found.error_response}")

    @suite.check(
        "A failed call carries a google.rpc.ErrorInfo (in the trailer `grpc-status-details-bin`, a google.rpc.Status; "
        'over HTTP in the problem document) whose `domain` is "footnote.types.v1", this package, and whose `reason` is '
        'one of these names without the prefix, for example "COLLECTION_NOT_FOUND".',
        "A request with only a scope is answered, or refused with INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, "
        "FAILED_PRECONDITION, UNAVAILABLE, RESOURCE_EXHAUSTED or ABORTED.",
    )
    async def empty_requests_end_with_a_reason(target: Target) -> None:
        for method in target.stage.contract.methods:
            try:
                await target.call(method.name)
            except Refusal as refusal:
                shown = f"{method.name} with nothing but a scope: {refusal} (domain '{refusal.domain}')"
                expect(refusal.typed and refusal.code in _ALLOWED, shown)


def _of_the_scope(suite: Suite) -> None:
    @suite.check(
        "A call without a scope, or with one that lacks tenant_id or user_id, is refused with UNAUTHENTICATED and "
        "reason SCOPE_MISSING before any handler runs.",
        "Every request to a stage carries one; in a client stream it is required on the first message and ignored on "
        "the others.",
    )
    async def scope_is_required(target: Target) -> None:
        for method in target.stage.contract.methods:
            for scope in (None, Scope(user_id="u"), Scope(tenant_id="t")):
                call = target.stage.call(method.name, request_of(method, scope))
                await refused(call, _MISSING, f"{method.name} with scope ({str(scope).strip()})")

    proofs.add_to(suite)

    if any("all_tenants" in method.input_type.fields_by_name for method in _methods(suite)):

        @suite.check("Only with ROLE_SYSTEM, else PERMISSION_DENIED.")
        async def all_tenants_are_for_services(target: Target) -> None:
            for method in target.stage.contract.methods:
                if "all_tenants" in method.input_type.fields_by_name:
                    call = target.call(method.name, all_tenants=True)
                    await refused(call, ("PERMISSION_DENIED", "PERMISSION_DENIED"), f"{method.name} over all tenants")


def _of_the_fields(suite: Suite) -> None:
    @suite.check(
        "An unknown enum number is a violation too.",
        "The path has the names of the fields with dots between them, and the index of an element of a list in "
        "brackets.",
    )
    async def unknown_enum_numbers_are_refused(target: Target) -> None:
        await _all_refused(target, violations.unknown_enums)

    if any(any(violations.broken_bounds(GetMessageClass(method.input_type)())) for method in _methods(suite)):

        @suite.check(
            "Allowed values of a field, checked for every call before its handler runs: a violation is "
            "INVALID_ARGUMENT with reason INVALID_FIELD and the field's path in google.rpc.BadRequest."
        )
        async def bounds_are_kept(target: Target) -> None:
            await _all_refused(target, violations.broken_bounds)

    paged = [method.name for method in _methods(suite) if "page_token" in method.input_type.fields_by_name]
    if paged:

        @suite.check(
            "In a list that comes in pages, a `page_size` below 0 and a `page_token` that is no `next_page_token` of "
            "the same request by the same caller are INVALID_ARGUMENT with INVALID_FIELD."
        )
        async def paging_is_checked(target: Target) -> None:
            for name in paged:
                given = _required_values(target, name)
                call = target.call(name, **given, page_token="bm9uZSBvZiB5b3Vycw")
                await _refused_or_absent(call, f"{name} with an invented token", "page_token")
                if "page_size" in target.stage.contract.methods_by_name[name].input_type.fields_by_name:
                    call = target.call(name, **given, page_size=-1)
                    await _refused_or_absent(call, f"{name} with page_size -1", "page_size")


_NUMBERS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)


def _required_values(target: Target, method: str) -> dict[str, str | int]:
    """Return a value for each required text and number of a request, so that the stage checks the other fields."""
    fields = target.stage.contract.methods_by_name[method].input_type.fields
    needed = [one for one in fields if is_required(one) and not one.is_repeated]
    texts = {one.name: "none" for one in needed if one.type == FieldDescriptor.TYPE_STRING}
    return texts | {one.name: 1 for one in needed if one.type in _NUMBERS}


def _of_time(suite: Suite) -> None:
    @suite.check(
        "A call past its deadline ends with DEADLINE_EXCEEDED within five seconds, and does not affect other calls."
    )
    async def deadlines_end_calls(target: Target) -> None:
        request = target.request(suite.probe)
        for seconds in (0.0001, 0.001, 0.005, 0.02, 0.1):  # before it is sent, on its way, and while it is worked on
            begun = time.monotonic()
            # Delays of this process on a busy machine are not the stage's fault.
            ours = asyncio.create_task(_slept(seconds))
            try:
                await target.stage.call(suite.probe, request, timeout=seconds)
            except Refusal as refusal:
                # A server whose own deadline expires first resets the stream, which appears as CANCELLED.
                reset = refusal.code == "CANCELLED" and not refusal.typed
                expect(reset or refusal.code == "DEADLINE_EXCEEDED", f"{seconds} s were given: {refusal}")
            took = time.monotonic() - begun
            over = took - await ours
            expect(over < _AFTER_DEADLINE, f"{seconds} s were given, it took {took:.1f} s")
        await target.call(suite.probe)

    @suite.check("A call that its caller cancels ends and does not affect later calls.")
    async def cancelled_calls_leave_nothing(target: Target) -> None:
        request = target.request(suite.probe)
        for moment in range(_SIDE_BY_SIDE):  # before it is sent, on its way, and while it is worked on
            call = target.stage.start(suite.probe, request)
            await asyncio.sleep(moment * 0.002)
            call.cancel()
        await target.call(suite.probe)

    @suite.check("Concurrent calls are answered as single ones are.")
    async def calls_run_side_by_side(target: Target) -> None:
        first = await target.call(suite.probe)
        answers = await at_once([target.call(suite.probe) for _ in range(_SIDE_BY_SIDE)])
        expect(all(answer == first for answer in answers), f"{suite.probe} was answered differently beside others")


def _methods(suite: Suite) -> list[MethodDescriptor]:
    return list(contract_of(suite.stage).methods)


async def _all_refused(target: Target, made: Callable[[Message], Iterator[tuple[str, Message]]]) -> None:
    """Send every wrong request to every method, each with its scope's proof."""
    for method in target.stage.contract.methods:
        for field, request in made(request_of(method, target.scope)):
            await refused(
                target.stage.call(method.name, request), INVALID, f"{method.name} with a wrong {field}", field
            )


async def _refused_or_absent(call: Any, about: str, field: str) -> None:
    """A list of a missing parent, or one for services only, may be refused for that reason first."""
    try:
        await call
    except Refusal as refusal:
        if refusal.code in ("NOT_FOUND", "PERMISSION_DENIED") and refusal.typed:
            return
        expect((refusal.code, refusal.reason) == INVALID and field in refusal.fields, f"{about}: {refusal}")
        return
    expect(False, f"{about}: it was answered")


async def _slept(seconds: float) -> float:
    """Sleep, and return the actual duration in seconds."""
    begun = time.monotonic()
    await asyncio.sleep(seconds)
    return time.monotonic() - begun


async def _reflected(target: Target, request: Any) -> Any:
    call = target.stage.channel.stream_stream(
        _REFLECTION,
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )

    async def requests() -> AsyncIterator[Any]:
        yield request

    return await _plain(call(requests(), timeout=SECONDS).read())


async def _plain(call: Any) -> Any:
    """Return the response to a foreign service's call; raises Refusal."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise refusal_of(error) from error


_MOST_PAGES = 50


async def walked(page: Callable[[int, str], Awaitable[Any]], field: str, size: int) -> list[Any]:
    """Return the elements of all pages of at most `size`; `page` returns one for a size and a token."""
    elements: list[Any] = []
    token = ""
    for _ in range(_MOST_PAGES):
        response = await page(size, token)
        found = list(getattr(response, field))
        expect(len(found) <= size, f"a page of at most {size} has {len(found)} elements")
        elements += found
        token = response.next_page_token
        if not token:
            return elements
    expect(False, f"after {_MOST_PAGES} pages there is still another")
    return elements


async def foreign_token(
    page: Callable[[int, str], Awaitable[Any]], theirs: Callable[[int, str], Awaitable[Any]]
) -> None:
    """Check that a token is valid only for its caller; both lists need more than one element."""
    token = (await page(1, "")).next_page_token
    expect(token, "the first page of several has no next_page_token")
    await refused(theirs(1, token), INVALID, "another caller's page token", "page_token")

"""A server before a stage of any make that passes every call on as it came, and falsifies one promise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote_conformance.target import SECONDS, Stage, refusal_of
from footnote_kit.status import FinalStatus
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

PROOF = "x-footnote-proof"
Messages = list[Any]


@dataclass
class Call:
    """A call on its way. Of what is no method of the contract (health, reflection) the messages are bytes."""

    path: str
    requests: Messages
    headers: list[tuple[str, str]]
    timeout: float | None
    state: dict[str, Any]
    """What the mutant remembers from call to call."""

    @property
    def method(self) -> str:
        """Its name without the service's."""
        return self.path.rpartition("/")[2]


Go = Callable[[Call], Any]
Change = Callable[[Call, Go], Any]
"""(call, what makes it) -> the responses, or a refusal as grpc.aio.AioRpcError."""


async def honest(call: Call, go: Go) -> Messages:
    """Change nothing."""
    return await go(call)


@dataclass
class Falsifier:
    """Passes calls on to a stage by way of a mutant."""

    stage: Stage
    mutant: Change = honest
    state: dict[str, Any] = field(default_factory=dict)

    def service(self, details: Any) -> grpc.RpcMethodHandler:
        """Take any method."""
        return grpc.stream_stream_rpc_method_handler(partial(self._handle, details.method))

    async def _handle(self, path: str, incoming: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        kinds = self._kinds(path)
        requests = [kinds[0].FromString(one) if kinds else one async for one in incoming]
        headers = [(key, value) for key, value in context.invocation_metadata() if key == PROOF]
        self.state.setdefault("stage", self.stage)
        call = Call(path, requests, headers, context.time_remaining(), self.state)
        try:
            responses = await self.mutant(call, self._go)
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details() or "", tuple(error.trailing_metadata() or ()))
        for one in responses:
            yield one.SerializeToString() if isinstance(one, Message) else one

    def _kinds(self, path: str) -> tuple[Any, Any] | None:
        service, _, name = path.lstrip("/").partition("/")
        if service != self.stage.contract.full_name or name not in self.stage.contract.methods_by_name:
            return None
        method = self.stage.contract.methods_by_name[name]
        return GetMessageClass(method.input_type), GetMessageClass(method.output_type)

    async def _go(self, call: Call) -> Messages:
        if not self._kinds(call.path):
            made = self.stage.channel.stream_stream(call.path)(_each(call.requests), timeout=call.timeout)
            return [one async for one in made]
        method = self.stage.contract.methods_by_name[call.method]
        requests = call.requests if method.client_streaming else call.requests[0]
        begun = self.stage.start(call.method, requests, call.headers, call.timeout or SECONDS)
        ending = FinalStatus(begun) if method.client_streaming else None
        try:
            return [one async for one in begun] if method.server_streaming else [await begun]
        except grpc.aio.AioRpcError as error:
            raise (error if ending is None else await ending.of(error)) from None


async def _each(messages: Sequence[bytes]) -> AsyncIterator[bytes]:
    for one in messages:
        yield one


@asynccontextmanager
async def falsified(stage: Stage, mutant: Change = honest) -> AsyncIterator[Stage]:
    """Yield the stage as it is seen behind a mutant."""
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_metadata_size", 65_536),
            ("grpc.absolute_max_metadata_size", 65_536),
        ]
    )
    server.add_generic_rpc_handlers((Falsifier(stage, mutant),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await channel.channel_ready()
            yield Stage(stage.name, channel, stage.credential)
    finally:
        await server.stop(0)


def refuse(code: grpc.StatusCode, details: str = "busy") -> grpc.aio.AioRpcError:
    """Return a refusal without details of ours."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)


def signed(call: Call, scope: Scope) -> None:
    """Have a call made on behalf of a scope, with its proof."""
    stage: Stage = call.state["stage"]
    for one in call.requests[:1]:
        one.scope.CopyFrom(scope)
    call.headers = stage.proof(call.method, scope)


def of(*methods: str) -> Callable[[Change], Change]:
    """Keep a mutant to these methods; to all of the contract where none is named."""

    def kept(change: Change) -> Change:
        async def mutant(call: Call, go: Go) -> Messages:
            ours = call.requests and isinstance(call.requests[0], Message)
            return await (change(call, go) if ours and (not methods or call.method in methods) else go(call))

        return mutant

    return kept


def asked(method: str, change: Callable[[Any], Any]) -> Change:
    """Change each request of a method."""

    @of(method)
    async def mutant(call: Call, go: Go) -> Messages:
        for one in call.requests:
            change(one)
        return await go(call)

    return mutant


def answered(method: str, change: Callable[[Any], Any]) -> Change:
    """Change each response of a method."""

    @of(method)
    async def mutant(call: Call, go: Go) -> Messages:
        responses = await go(call)
        for one in responses:
            change(one)
        return responses

    return mutant


def _parent(message: Any, path: str) -> list[tuple[Any, str]]:
    """Return the messages that hold a field, and its name: `blocks.locator` of every block that there is."""
    here = [message]
    *above, name = path.split(".")
    for step in above:
        found: list[Any] = []
        for one in here:
            value = getattr(one, step)
            repeated = one.DESCRIPTOR.fields_by_name[step].is_repeated
            found += list(value) if repeated else [value] if one.HasField(step) else []
        here = found
    return [(one, name) for one in here]


def ignored(method: str, *paths: str) -> Change:
    """Act as if fields of the request had not been given."""
    return asked(method, lambda one: [holder.ClearField(name) for path in paths for holder, name in _parent(one, path)])


def dropped(method: str, *paths: str) -> Change:
    """Leave fields of the response out."""
    return answered(
        method, lambda one: [holder.ClearField(name) for path in paths for holder, name in _parent(one, path)]
    )


def added(method: str, path: str, more: Any = 1) -> Change:
    """Add to a number, or to the end of a text, in the response."""
    return answered(
        method, lambda one: [setattr(at, name, getattr(at, name) + more) for at, name in _parent(one, path)]
    )


def put(method: str, path: str, value: Any) -> Change:
    """Put a value into the request."""
    return asked(method, lambda one: [setattr(holder, name, value) for holder, name in _parent(one, path)])


def turned(method: str, path: str) -> Change:
    """Turn a list of the response round."""

    def change(one: Any) -> None:
        for holder, name in _parent(one, path):
            values = list(getattr(holder, name))[::-1]
            holder.ClearField(name)
            getattr(holder, name).extend(values)

    return answered(method, change)


def undone(method: str, *, always: bool = False) -> Change:
    """Answer the first call with an empty response, and do nothing; later ones, as of tidying up, are done."""

    @of(method)
    async def mutant(call: Call, go: Go) -> Messages:
        if call.state.setdefault("undone", call) is not call and not always:
            return await go(call)
        return [_empty(call)]

    return mutant


def swallowed(reason: str, *methods: str) -> Change:
    """Return an empty response instead of a refusal with this reason."""

    @of(*methods)
    async def mutant(call: Call, go: Go) -> Messages:
        try:
            return await go(call)
        except grpc.aio.AioRpcError as error:
            if refusal_of(error).reason != reason:
                raise
            return [_empty(call)]

    return mutant


def _empty(call: Call) -> Any:
    stage: Stage = call.state["stage"]
    return GetMessageClass(stage.contract.methods_by_name[call.method].output_type)()


@of()
async def for_the_first_caller(call: Call, go: Go) -> Messages:
    """All calls use the scope of the first caller."""
    signed(call, call.state.setdefault("first", call.requests[0].scope))
    return await go(call)

"""The doors: one call by gRPC, HTTP or MCP, and everything that came back, in one shape."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import grpc
import httpx2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

CALL_SECONDS = 40.0
ENDLESS = frozenset({"WatchSource"})
"""Streams that last until the caller leaves: only their first message is read."""
CUT_WHILE_WRITING = "Internal error from Core"
"""The client's own error for a stream that is refused while it is being sent; the server's error is another."""

HTTP_CODES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS",
    412: "ABORTED", 413: "INVALID_ARGUMENT", 422: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
    501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
DETAILS = (
    error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo,
    error_details_pb2.ResourceInfo, error_details_pb2.Help, error_details_pb2.LocalizedMessage,
    error_details_pb2.DebugInfo, error_details_pb2.PreconditionFailure, error_details_pb2.QuotaFailure,
    error_details_pb2.RequestInfo,
)  # fmt: skip
CHANGING = {"request_id", "instance"}
"""Keys of errors that differ from call to call."""


@dataclass
class Outcome:
    """What came back."""

    code: str
    """OK, or gRPC's name of the refusal."""
    said: Any = None
    """A refusal word for word: message, details, names of headers; without what differs from call to call."""
    blob: bytes = b""
    """Every byte that came, lower-cased."""
    bodies: list[Any] = field(default_factory=list)
    """Every message as JSON."""

    @property
    def ok(self) -> bool:
        return self.code == "OK"

    def __str__(self) -> str:
        return self.code if self.ok else f"{self.code} {json.dumps(self.said)[:300]}"


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked of a door; `id` is the RPC's name where there is one."""

    door: str
    id: str
    method: MethodDescriptor | None = None
    verb: str = ""
    path: str = ""
    body: str = ""
    """Media type of the body over HTTP; empty without one."""
    query: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.door} {self.verb.upper()} {self.path} ({self.id})" if self.path else f"{self.door} {self.id}"


class Wire:
    """Connections to a deployment's public ports."""

    def __init__(self, channel: grpc.aio.Channel, http: httpx2.AsyncClient) -> None:
        self.channel, self.http = channel, http

    async def call(
        self, operation: Operation, body: Mapping[str, Any], key: str, headers: Mapping[str, str] | None = None
    ) -> Outcome:
        """Ask once; again when the deployment says that it is too busy."""
        sent = {**(headers or {}), **({"authorization": f"Bearer {key}"} if key else {})}
        for pause in (0.2, 1.0, 3.0, None):
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    outcome = await self._once(operation, body, sent)
            except TimeoutError:
                return Outcome("TIMEOUT", f"no end after {CALL_SECONDS} s")
            except httpx2.TransportError as error:  # a kept connection that the server had just closed, for example
                outcome = Outcome("UNAVAILABLE", repr(error))
            if not _worth_again(outcome) or pause is None:
                return outcome
            await asyncio.sleep(pause)
        raise AssertionError

    async def _once(self, operation: Operation, body: Mapping[str, Any], headers: dict[str, str]) -> Outcome:
        if operation.method is not None:
            return await self._grpc(operation.method, body, headers)
        if operation.door == "MCP":
            return await self._mcp(operation, body, headers)
        return await self._http(operation, body, headers)

    async def _grpc(self, method: MethodDescriptor, body: Mapping[str, Any], headers: dict[str, str]) -> Outcome:
        request_class = GetMessageClass(method.input_type)
        kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
        stub = getattr(self.channel, kind)(
            f"/{method.containing_service.full_name}/{method.name}",
            request_class.SerializeToString, GetMessageClass(method.output_type).FromString,
        )  # fmt: skip
        request: Any = ParseDict(dict(body), request_class()) if not method.client_streaming else None
        if method.client_streaming:
            request = iter([ParseDict({name: value}, request_class()) for name, value in body.items()])
        outcome = Outcome("OK")
        call = stub(request, metadata=tuple(headers.items()), timeout=CALL_SECONDS - 5)
        try:
            messages = await _messages(method, call)
            code, details = "OK", ""
        except grpc.aio.AioRpcError as error:
            messages, code, details = [], error.code().name, error.details() or ""
        metadata = [*(await call.initial_metadata() or ()), *(await call.trailing_metadata() or ())]
        outcome.code = code
        outcome.bodies = [MessageToDict(one, preserving_proto_field_name=True) for one in messages]
        parts = [one.SerializeToString() for one in messages] + [details.encode()]
        parts += [f"{name}=".encode() + (v if isinstance(v, bytes) else v.encode()) for name, v in metadata]
        outcome.blob = b"\n".join(parts).lower()
        names = sorted({name for name, _ in metadata})
        outcome.said = [code, details, names, _details(dict(metadata).get("grpc-status-details-bin", b""))]
        return outcome

    async def _http(self, operation: Operation, body: Mapping[str, Any], headers: dict[str, str]) -> Outcome:
        values = dict(body)
        path = operation.path
        for name in [name for name in values if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(str(values.pop(name)), safe=""))
        query = {name: values.pop(name) for name in operation.query if name in values}
        more: dict[str, Any] = {}
        if operation.body.startswith("multipart"):
            more["files"] = {"file": (values.get("filename", "new.txt"), values.pop("file", b"x"))}
            more["data"] = values
        elif operation.body:
            more["json"] = values
        if operation.id in ENDLESS:
            return await self._first_event(operation.verb, path, headers)
        answer = await self.http.request(operation.verb, path, params=query, headers=headers, **more)
        return _of_http(answer)

    async def _first_event(self, verb: str, path: str, headers: dict[str, str]) -> Outcome:
        async with self.http.stream(verb, path, headers=headers) as answer:
            text = ""
            async for part in answer.aiter_text():
                text += part
                if answer.is_success and "\n\n" in text:
                    break
        names = {
            name: value for name, value in answer.headers.items() if name not in ("content-encoding", "content-length")
        }
        return _of_http(httpx2.Response(answer.status_code, headers=names, text=text))

    async def _mcp(self, operation: Operation, body: Mapping[str, Any], headers: dict[str, str]) -> Outcome:
        call = {"name": operation.id, "arguments": dict(body)}
        answer = await self.rpc("tools/call", call, headers)
        outcome = _of_http(answer)
        if not outcome.ok:
            return outcome
        said = outcome.bodies[0]
        result = said.get("result", {})
        if "error" in said or result.get("isError"):
            outcome.code, outcome.said = "REFUSED", [said.get("error"), result.get("content")]
        outcome.bodies = [result.get("structuredContent") or result.get("content")]
        return outcome

    async def rpc(self, method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> httpx2.Response:
        """Send one JSON-RPC request to the MCP door."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        accept = {"accept": "application/json, text/event-stream"}
        return await self.http.post("/mcp", json=body, headers={**accept, **headers})


@asynccontextmanager
async def wired(grpc_address: str, http_address: str) -> AsyncIterator[Wire]:
    """Open one connection of each kind."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.enable_retries", 0)]
    limits = httpx2.Limits(max_connections=8)
    async with (
        grpc.aio.insecure_channel(grpc_address, options=options) as channel,
        httpx2.AsyncClient(base_url=f"http://{http_address}", timeout=CALL_SECONDS, limits=limits) as http,
    ):
        yield Wire(channel, http)


async def _messages(method: MethodDescriptor, call: Any) -> list[Any]:
    if not method.server_streaming:
        return [await call]
    if method.name not in ENDLESS:
        return [one async for one in call]
    async for one in call:
        call.cancel()
        return [one]
    return []


def _worth_again(outcome: Outcome) -> bool:
    broken = outcome.code == "INTERNAL" and CUT_WHILE_WRITING in str(outcome.said)
    return broken or outcome.code in ("RESOURCE_EXHAUSTED", "UNAVAILABLE")


def _details(raw: str | bytes) -> Any:
    if not raw:
        return []
    found = []
    for packed in status_pb2.Status.FromString(raw if isinstance(raw, bytes) else raw.encode()).details:
        kind = next((kind for kind in DETAILS if packed.Is(kind.DESCRIPTOR)), None)
        if kind is None:
            found.append(packed.type_url)
            continue
        message = kind()
        packed.Unpack(message)
        found.append(_steady(MessageToDict(message, preserving_proto_field_name=True)))
    return found


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _steady(inner) for name, inner in value.items() if name not in CHANGING}
    return [_steady(inner) for inner in value] if isinstance(value, list) else value


def _of_http(answer: httpx2.Response) -> Outcome:
    lines = [f"{name}={value}" for name, value in answer.headers.items()]
    outcome = Outcome("OK" if answer.is_success else HTTP_CODES.get(answer.status_code, str(answer.status_code)))
    outcome.blob = b"\n".join([*(line.encode() for line in lines), answer.content]).lower()
    kind = answer.headers.get("content-type", "")
    problem: Any = None
    if kind.startswith("text/event-stream"):
        for event in answer.text.split("\n\n"):
            data = "".join(line[6:] for line in event.splitlines() if line.startswith("data: "))
            if data and data != "[DONE]":
                outcome.bodies.append(json.loads(data))
            if event.startswith("event: error"):
                problem = outcome.bodies.pop()
                outcome.code = HTTP_CODES.get(problem.get("status", 500), "INTERNAL")
    elif "json" in kind and "jsonl" not in kind and answer.content:
        outcome.bodies.append(answer.json())
    if not outcome.ok:
        problem = problem or (outcome.bodies.pop() if outcome.bodies else answer.text)
        outcome.said = [answer.status_code, _steady(problem), sorted(set(answer.headers) - {"date"})]
    return outcome

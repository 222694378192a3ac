"""JSON routes for every annotated RPC, generated from the descriptors: unary as JSON, streams as server-sent events."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, nullcontext
from typing import Any, TypeVar
from urllib.parse import quote

from footnote_kit.errors import InvalidArgument
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from footnote_edge.http.serving.authentication import WORKING
from footnote_edge.http.serving.disconnects import while_connected
from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.http.transcoding import json_body, streams
from footnote_edge.http.transcoding.binding import Rule, bind, rules, to_json

T = TypeVar("T")

_CANCELLABLE = frozenset({"ReplayAnswer", "Search"})
_PRIVATE = {"cache-control": "no-store"}
"""Responses are private, and may hold a key's secret: no shared cache may store them."""

Endpoint = Callable[[Request], Awaitable[Response]]


def routes(calls: GrpcCalls) -> list[Route]:
    """Return a route for every annotated RPC."""
    return [Route(rule.path, _endpoint(rule, calls), methods=[rule.verb], name=rule.method.name) for rule in rules()]


async def read_json(request: Request, use: Callable[[Any], T]) -> T:
    """Return `use` of a request's JSON; raises InvalidArgument for invalid JSON or a missing JSON content type.

    The content type matters: without it, a page of another site could post here from a browser. For a large body, `use`
    runs in a thread too.
    """
    body = b"".join([part async for part in request.stream()])
    declared = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if body.strip() and declared != "application/json" and not declared.endswith("+json"):
        raise InvalidArgument("The content type of the body must be application/json")
    working = request.scope.get(WORKING, nullcontext) if len(body) > json_body.AT_ONCE else nullcontext
    async with working():
        return await json_body.aside(len(body), lambda: use(json_body.parse(body)))


def _endpoint(rule: Rule, calls: GrpcCalls) -> Endpoint:
    name = rule.method.name
    if name == "DownloadDocument":
        return _download(rule, calls)
    if rule.method.server_streaming:
        return _events(rule, calls)

    async def endpoint(request: Request) -> Response:
        message = await _bound(rule, request)
        call = calls.unary(name, message, request)
        # Reads can be cancelled without harm when the client disconnects; their model calls would otherwise run on
        # unused.
        result = await (while_connected(request, call) if name in _CANCELLABLE else call)
        return JSONResponse(to_json(result), headers=_PRIVATE)

    return endpoint


def _events(rule: Rule, calls: GrpcCalls) -> Endpoint:
    name = rule.method.name

    async def endpoint(request: Request) -> Response:
        message = await _bound(rule, request)
        responses = calls.stream(name, message, request)
        if _wants_json(request):
            last = await while_connected(request, _last(responses))
            return JSONResponse({} if last is None else to_json(_inner(last)), headers=_PRIVATE)
        return streams.response(await streams.started(_encoded(responses)))

    return endpoint


def _download(rule: Rule, calls: GrpcCalls) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        message = await _bound(rule, request)
        parts = calls.stream(rule.method.name, message, request)
        first = await anext(parts)
        headers = {
            # Always a download: an uploaded page must not run in this origin.
            "content-disposition": f"attachment; filename*=UTF-8''{quote(first.file.filename)}",
            "etag": f'"{first.file.sha256}"',
        }
        if first.file.size_bytes:
            headers["content-length"] = str(first.file.size_bytes)
        media_type = first.file.mime_type or "application/octet-stream"

        async def data() -> AsyncIterator[bytes]:
            async with aclosing(parts):
                if first.data:
                    yield first.data
                async for part in parts:
                    yield part.data

        return StreamingResponse(data(), media_type=media_type, headers=headers)

    return endpoint


async def _bound(rule: Rule, request: Request) -> Message:
    def bound(body: Any) -> Message:
        return bind(rule, request.path_params, request.query_params.multi_items(), body)

    return await read_json(request, bound) if rule.body else bound({})


async def _last(responses: AsyncGenerator[Any]) -> Any:
    last = None
    async with aclosing(responses):
        async for response in responses:
            last = response
    return last


async def _encoded(responses: AsyncGenerator[Any]) -> AsyncGenerator[str]:
    async with aclosing(responses):
        async for response in responses:
            yield streams.encode(to_json(response), _kind(response))


def _kind(response: Message) -> str:
    """Return the name of the set event in a message with a oneof of events, else nothing."""
    oneofs = response.DESCRIPTOR.oneofs_by_name
    return (response.WhichOneof("event") or "") if "event" in oneofs else ""


def _inner(response: Message) -> Message:
    """Return the message inside the last event: the answer itself instead of its event."""
    kind = _kind(response)
    inner = getattr(response, kind) if kind else response
    return inner if isinstance(inner, Message) else response


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/event-stream" not in accepted

"""The deadlines that edge's handlers see for calls over HTTP."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from footnote.edge.v1 import answers_pb2, answers_pb2_grpc, vectors_pb2, vectors_pb2_grpc
from footnote_edge.http.dialects import mcp_tools
from footnote_edge.http.dialects.mcp_server import McpRoute
from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.settings import Settings
from footnote_kit.clients import open_channel
from footnote_kit.settings import KitSettings
from starlette.requests import Request

SETTINGS = Settings(ask_timeout_seconds=500)


class Handlers(answers_pb2_grpc.AnswersServiceServicer, vectors_pb2_grpc.VectorsServiceServicer):
    """Notes the seconds that each call is given."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}

    async def ReplayAnswer(self, request: Any, context: Any) -> Any:
        self.seen["ReplayAnswer"] = context.time_remaining()
        return answers_pb2.ReplayAnswerResponse()

    async def AddVectors(self, request: Any, context: Any) -> Any:
        self.seen["AddVectors"] = context.time_remaining()
        return vectors_pb2.AddVectorsResponse()

    async def Ask(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.seen["Ask"] = context.time_remaining()
        yield answers_pb2.AskResponse(completed=answers_pb2.AskCompleted())


@pytest.fixture
async def handlers() -> Handlers:
    """What serves the calls."""
    return Handlers()


@pytest.fixture
async def calls(handlers: Handlers) -> AsyncIterator[GrpcCalls]:
    """Calls over the channel that edge's HTTP side has."""
    server = grpc.aio.server()
    answers_pb2_grpc.add_AnswersServiceServicer_to_server(handlers, server)
    vectors_pb2_grpc.add_VectorsServiceServicer_to_server(handlers, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with open_channel(f"127.0.0.1:{port}", "edge", KitSettings()) as channel:
        yield GrpcCalls(channel, SETTINGS)
    await server.stop(0)


def request_with(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw})


async def test_an_answer_written_again_has_the_time_of_an_answer(calls: GrpcCalls, handlers: Handlers) -> None:
    await calls.unary("ReplayAnswer", answers_pb2.ReplayAnswerRequest(answer_id="a"), request_with())
    async for _ in calls.stream("Ask", answers_pb2.AskRequest(question="q"), request_with()):
        pass
    assert {name: round(seconds, -1) for name, seconds in handlers.seen.items()} == {"ReplayAnswer": 500, "Ask": 500}


async def test_a_call_that_edge_limits_itself_is_not_cut_before(calls: GrpcCalls, handlers: Handlers) -> None:
    """AddVectors has 130 s for 1000 rows, and other RPCs 30 s for each of their calls to stages."""
    await calls.unary("AddVectors", vectors_pb2.AddVectorsRequest(collection="c"), request_with())
    assert handlers.seen["AddVectors"] > 1000
    await calls.unary("AddVectors", vectors_pb2.AddVectorsRequest(collection="c"), request_with(x_footnote_timeout="7"))
    assert 0 < handlers.seen["AddVectors"] <= 8


@pytest.mark.parametrize(("headers", "seconds"), [({}, 500), ({"x_footnote_timeout": "77"}, 77)])
async def test_an_agent_has_the_time_of_other_callers(
    calls: GrpcCalls, handlers: Handlers, headers: dict[str, str], seconds: float
) -> None:
    context: Any = SimpleNamespace(request_context=SimpleNamespace(request=request_with(**headers)))
    tools = mcp_tools.server(calls.stub, McpRoute(calls, "1")._options_of, "1")
    ask = next(one for one in tools._tool_manager.list_tools() if one.name == "ask")
    await ask.fn("q", context)
    assert seconds - 10 < handlers.seen["Ask"] <= seconds + 1

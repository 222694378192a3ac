"""Small services on the real kit: one with a method of each kind, and empty implementations of all six services."""

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import grpc
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest as Ask
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan as Answer
from footnote_kit.app import App, Runtime
from footnote_kit.edge import SERVICES, additions
from footnote_kit.errors import FailedPrecondition
from footnote_kit.settings import PUBLIC
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from pydantic_settings import BaseSettings

SERVICE = "footnote.sample.v1.SampleService"
STAGES = ("ingestion", "indexing", "retrieval", "augmentation", "generation")


class SampleService:
    """A service with one method of each kind; a test supplies the handlers that it needs.

    Requests are `Ask` (a scope, and `trace_id` for any text), responses `Answer` (`name` for any text).
    """

    def __init__(
        self, *, unary: Any = None, stream: Any = None, collect: Any = None, both: Any = None, watch: Any = None
    ) -> None:
        makers = {
            "Unary": (grpc.unary_unary_rpc_method_handler, unary),
            "Stream": (grpc.unary_stream_rpc_method_handler, stream),
            "Collect": (grpc.stream_unary_rpc_method_handler, collect),
            "Watch": (grpc.unary_stream_rpc_method_handler, watch),
            "Both": (grpc.stream_stream_rpc_method_handler, both),
        }
        self._handlers = {
            name: make(behaviour, Ask.FromString, Answer.SerializeToString)
            for name, (make, behaviour) in makers.items()
            if behaviour is not None
        }

    def app(self, name: str = "sample", **fields: Any) -> App:
        """Return the app of this service."""
        return App(name, [(self._add, self, SERVICE)], **fields)

    def _add(self, _: Any, server: grpc.aio.Server) -> None:
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self._handlers),))


class SampleStub:
    """Its client."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        codec = (Ask.SerializeToString, Answer.FromString)
        self.unary = channel.unary_unary(f"/{SERVICE}/Unary", *codec)
        self.stream = channel.unary_stream(f"/{SERVICE}/Stream", *codec)
        self.watch = channel.unary_stream(f"/{SERVICE}/Watch", *codec)
        self.collect = channel.stream_unary(f"/{SERVICE}/Collect", *codec)
        self.both = channel.stream_stream(f"/{SERVICE}/Both", *codec)


def contracts(stage: str) -> list[tuple[Any, ServiceDescriptor]]:
    """Return (add_XServicer_to_server, descriptor) of every service of a stage or of edge."""
    if stage == "edge":
        return [(add, service) for (add, _), service in zip(additions(), SERVICES, strict=True)]
    stubs, service = contract(stage)
    return [(getattr(stubs, f"add_{service.name}Servicer_to_server"), service)]


def contract(stage: str) -> tuple[Any, ServiceDescriptor]:
    """Return stubs and descriptor of a stage's service; edge has several, see `contracts`."""
    messages = import_module(f"footnote.{stage}.v1.{stage}_service_pb2")
    stubs = import_module(f"footnote.{stage}.v1.{stage}_service_pb2_grpc")
    (service,) = messages.DESCRIPTOR.services_by_name.values()
    return stubs, service


def message_class(descriptor: Any) -> type[Message]:
    """Return the class of a message descriptor."""
    return message_factory.GetMessageClass(descriptor)


def empty_stage(stage: str, reached: list[str]) -> App:
    """Return an app of a stage whose handlers record their name in `reached` and return an empty message."""
    services = contracts(stage)

    def handler(method: MethodDescriptor) -> Any:
        response = message_class(method.output_type)

        async def stream(self: Any, request: Any, context: Any) -> AsyncIterator[Message]:
            if method.client_streaming:
                async for _ in request:
                    pass
            reached.append(method.name)
            yield response()

        async def unary(self: Any, request: Any, context: Any) -> Message:
            if method.client_streaming:
                async for _ in request:
                    pass
            reached.append(method.name)
            return response()

        return stream if method.server_streaming else unary

    methods = {method.name: handler(method) for _, service in services for method in service.methods}
    servicer = type("EmptyStage", (), methods)()
    return App(
        stage,
        [(add, servicer, service.full_name) for add, service in services],
        public=stage in PUBLIC,
    )


def build_function(stage: str) -> Any:
    """Return a build function for an empty stage."""

    async def build(runtime: Runtime) -> App:
        return empty_stage(stage, [])

    return build


# The launcher's tests find these by import string, as it finds the real services.
build_edge, build_ingestion, build_indexing, build_retrieval, build_augmentation, build_generation = (
    build_function(stage) for stage in ("edge", "ingestion", "indexing", "retrieval", "augmentation", "generation")
)


async def build_broken(runtime: Runtime) -> App:
    """Fail with an error that a user can fix."""
    raise FailedPrecondition("The index is on another planet")


async def build_unforeseen(runtime: Runtime) -> App:
    """Fail with an unexpected error."""
    raise ValueError("secret plan")


class _Settings(BaseSettings):
    """Settings that a stage reads from its environment."""

    workers: int


async def build_misconfigured(runtime: Runtime) -> App:
    """Fail because a setting is wrong."""
    _Settings(workers="many")  # type: ignore[arg-type]
    raise AssertionError


async def build_known_callers(runtime: Runtime) -> App:
    """Start an edge that checks credentials."""
    app = empty_stage("edge", [])
    app.authenticates = True
    return app


async def build_never_ready(runtime: Runtime) -> App:
    """Start, but never become ready."""

    async def ready() -> str | None:
        return "waiting for Godot"

    app = empty_stage("retrieval", [])
    app.ready = ready
    return app


def upkeep(stage: str) -> list[MethodDescriptor]:
    """Return the internal methods of a stage, which edge calls but other implementations may omit."""
    found: list[MethodDescriptor] = []
    for name in ("upkeep", "group"):
        try:
            module = import_module(f"footnote.internal.{stage}.v1alpha1.{name}_service_pb2")
        except ModuleNotFoundError:
            continue
        for service in module.DESCRIPTOR.services_by_name.values():
            found += service.methods
    return found

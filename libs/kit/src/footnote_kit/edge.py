"""The whole public API: every service of footnote.edge.v1, and every RPC by its name."""

from collections.abc import Mapping
from typing import Any

import grpc
from footnote.edge.v1 import (
    answers_pb2,
    answers_pb2_grpc,
    audit_pb2,
    audit_pb2_grpc,
    collections_pb2,
    collections_pb2_grpc,
    conversations_pb2,
    conversations_pb2_grpc,
    documents_pb2,
    documents_pb2_grpc,
    evaluations_pb2,
    evaluations_pb2_grpc,
    keys_pb2,
    keys_pb2_grpc,
    limits_pb2,
    limits_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    providers_pb2,
    providers_pb2_grpc,
    sources_pb2,
    sources_pb2_grpc,
    system_pb2,
    system_pb2_grpc,
    tables_pb2,
    tables_pb2_grpc,
    vectors_pb2,
    vectors_pb2_grpc,
)
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

_FILES = (
    (answers_pb2, answers_pb2_grpc),
    (audit_pb2, audit_pb2_grpc),
    (collections_pb2, collections_pb2_grpc),
    (conversations_pb2, conversations_pb2_grpc),
    (documents_pb2, documents_pb2_grpc),
    (evaluations_pb2, evaluations_pb2_grpc),
    (keys_pb2, keys_pb2_grpc),
    (limits_pb2, limits_pb2_grpc),
    (operations_pb2, operations_pb2_grpc),
    (providers_pb2, providers_pb2_grpc),
    (sources_pb2, sources_pb2_grpc),
    (system_pb2, system_pb2_grpc),
    (tables_pb2, tables_pb2_grpc),
    (vectors_pb2, vectors_pb2_grpc),
)

SERVICES: tuple[ServiceDescriptor, ...] = tuple(
    service for messages, _ in _FILES for service in messages.DESCRIPTOR.services_by_name.values()
)
"""All services of the public API."""

METHODS: tuple[MethodDescriptor, ...] = tuple(method for service in SERVICES for method in service.methods)
"""All RPCs of the public API. Their names are unique across services; a test checks this."""


PATHS: Mapping[str, str] = {method.name: f"/{method.containing_service.full_name}/{method.name}" for method in METHODS}
"""The full gRPC path of each RPC, by its name."""


class EdgeStub:
    """A client of the whole public API: `EdgeStub(channel).Ask(request)` finds the RPC in whichever service has it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        for service, (_, stubs) in zip(SERVICES, _FILES, strict=True):
            stub = getattr(stubs, f"{service.name}Stub")(channel)
            for method in service.methods:
                setattr(self, method.name, getattr(stub, method.name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the public API has no RPC {name}")


def additions() -> list[tuple[Any, str]]:
    """Return (add_XServicer_to_server, full service name) for each service of the public API."""
    return [
        (getattr(stubs, f"add_{service.name}Servicer_to_server"), service.full_name)
        for service, (_, stubs) in zip(SERVICES, _FILES, strict=True)
    ]

"""Server reflection, v1 and v1alpha, with the contracts' comments, so that clients can explain each field.

grpcio-reflection implements v1alpha only and serves descriptors without comments. Both versions have the same wire
format. Files of this project are served from the descriptor image that the generator writes beside the code.
"""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import grpc
from footnote.types.v1 import errors_pb2
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha import reflection_pb2 as pb
from grpc_reflection.v1alpha.reflection import SERVICE_NAME as V1ALPHA
from grpc_reflection.v1alpha.reflection import aio

V1 = "grpc.reflection.v1.ServerReflection"
IMAGE = "contracts.binpb"
ERRORS = (errors_pb2.DESCRIPTOR, error_details_pb2.DESCRIPTOR)
"""Messages that occur only in errors, in no request or response; imported so that reflection finds them."""


class _Servicer(aio.ReflectionServicer):  # type: ignore[misc]
    """The library's dispatch, with this project's files."""

    def _file_by_filename(self, request: Any, filename: str) -> Any:
        try:
            return _found(request, descriptor_pool.Default().FindFileByName(filename))
        except KeyError:
            return super()._file_by_filename(request, filename)

    def _file_containing_symbol(self, request: Any, fully_qualified_name: str) -> Any:
        try:
            return _found(request, _file_of(fully_qualified_name))
        except KeyError:
            return super()._file_containing_symbol(request, fully_qualified_name)


def add_to(server: grpc.aio.Server, services: Iterable[str]) -> None:
    """Serve reflection for these services, under both names of the reflection service."""
    servicer = _Servicer([*services, V1ALPHA, V1])
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=pb.ServerReflectionRequest.FromString,
        response_serializer=pb.ServerReflectionResponse.SerializeToString,
    )
    for name in (V1ALPHA, V1):
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": handler}),)
        )


def comment(full_name: str) -> str:
    """Return the comment of a message, field, enum, value, service or method of this project; "" if it has none."""
    return _comments().get(full_name, "")


def _file_of(symbol: str) -> FileDescriptor:
    pool = descriptor_pool.Default()
    try:
        return pool.FindFileContainingSymbol(symbol)
    except KeyError:
        # The pool finds a field, an enum value or a method only by its parent.
        return pool.FindFileContainingSymbol(symbol.rpartition(".")[0])


def _found(request: Any, file: FileDescriptor) -> Any:
    files: dict[str, bytes] = {}
    _collect(file, files)
    return pb.ServerReflectionResponse(
        file_descriptor_response=pb.FileDescriptorResponse(file_descriptor_proto=list(files.values())),
        original_request=request,
    )


def _collect(file: FileDescriptor, files: dict[str, bytes]) -> None:
    if file.name in files:
        return
    ours = _image().get(file.name)
    if ours is None:
        ours = FileDescriptorProto()
        file.CopyToProto(ours)
    files[file.name] = ours.SerializeToString()
    for dependency in file.dependencies:
        _collect(dependency, files)


@cache
def _image() -> dict[str, FileDescriptorProto]:
    """Return this project's files with their comments, by name."""
    data = resources.files("footnote").joinpath(IMAGE).read_bytes()
    return {file.name: file for file in FileDescriptorSet.FromString(data).file if file.name.startswith("footnote/")}


@cache
def _comments() -> dict[str, str]:
    """Return every comment by the full name of its element."""
    found = {}
    for file in _image().values():
        for location in file.source_code_info.location:
            text = location.leading_comments.strip()
            if text and (name := _name(file, list(location.path))):
                found[f"{file.package}.{name}"] = "\n".join(line.strip() for line in text.split("\n"))
    return found


def _name(file: FileDescriptorProto, path: list[int]) -> str:
    """Return the name at a path of `SourceCodeInfo.Location`, without the package; "" for an unnamed element."""
    here: Any = file
    names = []
    for number, index in zip(path[::2], path[1::2], strict=False):
        elements = getattr(here, here.DESCRIPTOR.fields_by_number[number].name)
        if len(path) % 2 or not hasattr(elements, "__getitem__") or not hasattr(elements[index], "name"):
            return ""
        here = elements[index]
        names.append(here.name)
    return ".".join(names)

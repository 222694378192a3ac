"""Reflection returns the contracts with their comments, to clients of either version."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote_kit import reflection
from footnote_kit.edge import METHODS
from footnote_kit.testing import serve_app
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2 as pb
from support.doubles.services import empty_stage


async def asked(channel: Any, version: str, *requests: pb.ServerReflectionRequest) -> list[pb.ServerReflectionResponse]:
    call = channel.stream_stream(
        f"/{version}/ServerReflectionInfo",
        pb.ServerReflectionRequest.SerializeToString,
        pb.ServerReflectionResponse.FromString,
    )

    async def stream() -> AsyncIterator[pb.ServerReflectionRequest]:
        for request in requests:
            yield request

    return [answer async for answer in call(stream(), timeout=10)]


@pytest.mark.parametrize("version", [reflection.V1, reflection.V1ALPHA])
async def test_files_come_with_their_comments_and_methods_are_found(version: str) -> None:
    async with serve_app(empty_stage("edge", [])) as served:
        symbols = [method.full_name for method in METHODS] + ["footnote.types.v1.ErrorReason"]
        requests = [pb.ServerReflectionRequest(file_containing_symbol=symbol) for symbol in symbols]
        answers = await asked(served.channel, version, pb.ServerReflectionRequest(list_services=""), *requests)
    listed = {one.name for one in answers[0].list_services_response.service}
    assert {reflection.V1, reflection.V1ALPHA, "footnote.edge.v1.AnswersService"} <= listed
    for symbol, answer in zip(symbols, answers[1:], strict=True):
        files = [FileDescriptorProto.FromString(file) for file in answer.file_descriptor_response.file_descriptor_proto]
        assert files, symbol
        assert symbol.startswith(files[0].package)
        assert any(location.leading_comments for location in files[0].source_code_info.location)


async def test_what_is_not_there_is_not_found() -> None:
    async with serve_app(empty_stage("edge", [])) as served:
        (answer,) = await asked(
            served.channel, reflection.V1, pb.ServerReflectionRequest(file_containing_symbol="footnote.no.Such")
        )
    assert answer.error_response.error_code == 5


def test_comments_by_name() -> None:
    assert reflection.comment("footnote.stages.v1.Scope.tenant_id").startswith("The isolation boundary.")
    assert reflection.comment("footnote.types.v1.ROLE_READER") == ""
    assert reflection.comment("footnote.types.v1.Role.ROLE_READER") == "May search, ask and read documents."
    for method in METHODS:
        assert reflection.comment(method.full_name), method.full_name

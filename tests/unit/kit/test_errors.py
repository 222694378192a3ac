from typing import Any

import grpc
import pytest
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote_kit import errors, status
from footnote_kit.errors import FootnoteError
from google.rpc.status_pb2 import Status


def every_class() -> list[type[FootnoteError]]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FootnoteError)][1:]


@pytest.mark.parametrize("kind", every_class(), ids=lambda kind: kind.__name__)
def test_every_error_survives_the_wire(kind: type[FootnoteError]) -> None:
    if kind is errors.NotFound:
        error: FootnoteError = errors.NotFound("Gone", reason="DOCUMENT_NOT_FOUND", metadata={"id": "7"})
    else:
        error = kind("Gone", metadata={"id": "7"}, violations=[("a.b", "must be ü")], retry_after=1.25)
    back = status.from_proto(Status.FromString(status.to_proto(error).SerializeToString()))
    assert type(back) is (errors.Internal if kind is errors.NotOffered else kind)  # our own stages never answer so
    assert vars(back) == vars(error)


@pytest.mark.parametrize("kind", every_class(), ids=lambda kind: kind.__name__)
def test_default_reasons_and_codes_exist(kind: type[FootnoteError]) -> None:
    assert f"ERROR_REASON_{kind.default_reason}" in ErrorReason.keys()  # noqa: SIM118 (an enum wrapper, not a dict)
    assert hasattr(grpc.StatusCode, kind.code)


def test_a_wrong_field_is_named() -> None:
    error = errors.InvalidArgument.field("page_size", "must be between 1 and 1000")
    assert error.message == "page_size must be between 1 and 1000"
    assert error.violations == (("page_size", "must be between 1 and 1000"),)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, errors.Unavailable),
        (grpc.StatusCode.CANCELLED, errors.Unavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceeded),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, errors.ResourceExhausted),
        (grpc.StatusCode.UNIMPLEMENTED, errors.NotOffered),
        (grpc.StatusCode.DATA_LOSS, errors.Internal),
        (grpc.StatusCode.OUT_OF_RANGE, errors.InvalidArgument),
        (grpc.StatusCode.NOT_FOUND, errors.NotFound),
    ],
)
def test_a_status_without_our_details_becomes_the_nearest_error(
    code: grpc.StatusCode, kind: type[FootnoteError]
) -> None:
    raw = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), "ipv4:10.0.0.7:7103: Failed to connect")
    error = status.from_rpc_error(raw, "retrieval")
    assert type(error) is kind
    if kind is errors.Unavailable:
        assert error.message == "The retrieval service does not answer"


@pytest.mark.parametrize("side", ["request", "response"])
async def test_a_message_that_is_too_large_is_not_worth_waiting_for(side: str) -> None:
    async def echo(request: bytes, _: Any) -> bytes:
        return request * 10

    handler = grpc.method_handlers_generic_handler("s", {"m": grpc.unary_unary_rpc_method_handler(echo)})
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 100)])
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    options = [("grpc.max_receive_message_length", 100)]
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await channel.unary_unary("/s/m")(b"x" * (200 if side == "request" else 50))
    finally:
        await server.stop(None)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    error = status.from_rpc_error(caught.value, "ingestion")
    assert type(error) is errors.Internal
    assert error.message.startswith("A message of the ingestion service is too large: ")
    assert "larger than max" in error.message


def test_broken_details_do_not_hide_the_code() -> None:
    trailing = grpc.aio.Metadata((status.DETAILS_KEY, b"\xff\xff\xff"))
    raw = grpc.aio.AioRpcError(grpc.StatusCode.ABORTED, grpc.aio.Metadata(), trailing, "again")
    assert type(status.from_rpc_error(raw)) is errors.Aborted

"""Uploads over HTTP: as a form, or as raw bytes with the metadata in the query."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from footnote.edge.v1 import documents_pb2 as pb
from footnote_kit.errors import InvalidArgument
from google.protobuf.descriptor import Descriptor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.http.transcoding import json_body
from footnote_edge.http.transcoding.binding import field_of, fill, to_json
from footnote_edge.http.transcoding.forms import read_files, read_form
from footnote_edge.jobs.group_processing import MOST_BYTES

_PART_BYTES = 256 * 1024
_PASSED_ON = ("ttl", "size_bytes", "sha256", "request_id")
_UPLOAD_FIELDS = frozenset(
    {"collection", "filename", "tags", "metadata", "source_type", "allow_duplicate", *_PASSED_ON}
)
_MANY_FIELDS = _UPLOAD_FIELDS - {"filename", "size_bytes", "sha256", "request_id"}
_BOOLEANS = {"": False, "false": False, "0": False, "true": True, "1": True}
_REPLACE_FIELDS = frozenset({"filename", "etag", "request_id"})


def routes(calls: GrpcCalls) -> list[Route]:
    """Return the upload routes."""

    async def upload(request: Request) -> Response:
        fields, filename, content = await _read(request, pb.UploadMetadata.DESCRIPTOR)
        size = sum(len(text) for text in fields.get("metadata", ()))
        metadata = await json_body.aside(size, lambda: _metadata(fields, filename))

        async def messages() -> AsyncIterator[pb.UploadDocumentRequest]:
            yield pb.UploadDocumentRequest(metadata=metadata)
            async for part in content:
                yield pb.UploadDocumentRequest(data=part)

        accepted = await calls.unary("UploadDocument", messages(), request)
        location = {"location": f"/v1/documents/{accepted.document.id}"}
        return JSONResponse(to_json(accepted), 200 if accepted.duplicate else 201, location)

    async def upload_many(request: Request) -> Response:
        found, files = await read_files(request, MOST_BYTES)
        fields = _named(found, pb.UploadMetadata.DESCRIPTOR)
        _only(fields, _MANY_FIELDS)
        size = sum(len(text) for text in fields.get("metadata", ()))
        about = await json_body.aside(size, lambda: _metadata(fields, ""))

        async def messages() -> AsyncIterator[pb.UploadDocumentsRequest]:
            for filename, data in files:
                first = pb.UploadDocumentsRequest(metadata=about)
                first.metadata.filename = filename
                first.data = data[:_PART_BYTES]
                yield first
                for start in range(_PART_BYTES, len(data), _PART_BYTES):
                    yield pb.UploadDocumentsRequest(data=data[start : start + _PART_BYTES])

        return JSONResponse(to_json(await calls.unary("UploadDocuments", messages(), request)))

    async def replace(request: Request) -> Response:
        fields, filename, content = await _read(request, pb.ReplaceMetadata.DESCRIPTOR)
        _only(fields, _REPLACE_FIELDS)
        metadata = pb.ReplaceMetadata(
            document_id=request.path_params["document_id"],
            filename=_one(fields, "filename") or filename,
            etag=_one(fields, "etag"),
            request_id=_one(fields, "request_id"),
        )

        async def messages() -> AsyncIterator[pb.ReplaceDocumentRequest]:
            yield pb.ReplaceDocumentRequest(metadata=metadata)
            async for part in content:
                yield pb.ReplaceDocumentRequest(data=part)

        return JSONResponse(to_json(await calls.unary("ReplaceDocument", messages(), request)))

    return [
        Route("/v1/documents", upload, methods=["POST"], name="UploadDocument"),
        Route("/v1/documents:upload", upload_many, methods=["POST"], name="UploadDocuments"),
        Route("/v1/documents/{document_id}:replace", replace, methods=["POST"], name="ReplaceDocument"),
    ]


async def _read(request: Request, about: Descriptor) -> tuple[Mapping[str, Sequence[str]], str, AsyncIterator[bytes]]:
    """Return the fields by the contract's names, the file's name, and its bytes as a stream."""
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        form = await read_form(request)
        return _named(form.fields, about), form.filename, form.content
    fields = {key: request.query_params.getlist(key) for key in request.query_params}
    return _named(fields, about), "", _nonempty(request.stream())


def _named(fields: Mapping[str, Sequence[str]], about: Descriptor) -> Mapping[str, Sequence[str]]:
    named: dict[str, list[str]] = {}
    for key, values in fields.items():
        field = field_of(about, key)
        named.setdefault(key if field is None else field.name, []).extend(values)
    return named


async def _nonempty(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in parts:
        if part:
            yield part


def _metadata(fields: Mapping[str, Sequence[str]], filename: str) -> pb.UploadMetadata:
    _only(fields, _UPLOAD_FIELDS)
    values: dict[str, Any] = {
        "collection": _one(fields, "collection"),
        "filename": _one(fields, "filename") or filename,
        "source_type": _one(fields, "source_type"),
        "tags": [tag.strip() for text in fields.get("tags", ()) for tag in text.split(",") if tag.strip()],
        "allow_duplicate": _boolean(fields, "allow_duplicate"),
    }
    values |= {name: _one(fields, name) for name in _PASSED_ON if _one(fields, name)}
    if _one(fields, "metadata"):
        values["metadata"] = json_body.parse(_one(fields, "metadata").encode("utf-8", "surrogatepass"))
    return fill(values, pb.UploadMetadata())


def _boolean(fields: Mapping[str, Sequence[str]], name: str) -> bool:
    try:
        return _BOOLEANS[_one(fields, name).lower()]
    except KeyError:
        raise InvalidArgument.field(name, 'must be "true" or "false"') from None


def _only(fields: Mapping[str, Sequence[str]], known: frozenset[str]) -> None:
    for name in fields:
        if name not in known:
            raise InvalidArgument.field(name, f"is not known here; there are {', '.join(sorted(known))}")


def _one(fields: Mapping[str, Sequence[str]], name: str) -> str:
    values = fields.get(name) or ("",)
    return values[-1]

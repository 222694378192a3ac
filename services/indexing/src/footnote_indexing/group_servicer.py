"""Translates between the messages of the internal GroupService and the logic."""

from collections.abc import AsyncIterator

from footnote.internal.indexing.v1alpha1 import group_service_pb2 as groups
from footnote.internal.indexing.v1alpha1.group_service_pb2_grpc import GroupServiceServicer
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.context import Call
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.status import to_proto

from footnote_indexing.revisions.group_indexing import GroupIndexing, Member

_MOST_DOCUMENTS, _MOST_BYTES = 64, 16 * 2**20


class GroupServicer(GroupServiceServicer):
    """The RPC by which edge indexes many small documents at once."""

    def __init__(self, groups_: GroupIndexing) -> None:
        self._groups = groups_

    async def IndexDocuments(
        self, request_iterator: AsyncIterator[groups.IndexDocumentsRequest], context: Call
    ) -> groups.IndexDocumentsResponse:
        """Index several small documents together."""
        scope, members = await _members(request_iterator)
        outcomes = await self._groups.index(scope, members)
        return groups.IndexDocumentsResponse(
            documents=[
                groups.IndexedDocumentResult(error=to_proto(one))
                if isinstance(one, FootnoteError)
                else groups.IndexedDocumentResult(result=one.message())
                for one in outcomes
            ]
        )


async def _members(requests: AsyncIterator[groups.IndexDocumentsRequest]) -> tuple[Scope, list[Member]]:
    """Return the scope and the documents of a group."""
    scope, members, size = Scope(), [], 0
    async for request in requests:
        if request.HasField("scope"):
            scope = request.scope
        size += request.ByteSize()
        for part in request.parts:
            kind = part.WhichOneof("payload")
            if kind == "header":
                members.append(Member(part.header.document))
            elif not members or members[-1].parsed is not None:
                raise InvalidArgument.field(
                    "parts", "must begin each document with its header, and end it with metadata"
                )
            elif kind == "blocks":
                members[-1].blocks.extend(part.blocks.blocks)
            elif kind == "metadata":
                members[-1].parsed = part.metadata
        if len(members) > _MOST_DOCUMENTS or size > _MOST_BYTES:
            raise InvalidArgument.field("parts", f"must be at most {_MOST_DOCUMENTS} documents of {_MOST_BYTES} bytes")
    if not members:
        raise InvalidArgument.field("parts", "is required")
    return scope, members

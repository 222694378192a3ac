"""What the pipe between the stages makes of a parse that ends early."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.parsing_pb2 import Block
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_edge.jobs.block_pipe import BlockPipe
from footnote_edge.jobs.progress import ProgressBus
from footnote_kit.errors import Unavailable


class Call:
    """A stream of a stage."""

    def __init__(self, messages: AsyncIterator[Any]) -> None:
        self._messages = messages

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._messages

    def cancel(self) -> None:
        pass


async def test_a_parse_that_ends_without_metadata_publishes_nothing() -> None:
    """As of a stage that is stopped and ends its stream with OK: half a document must not replace the whole one."""
    sent: list[str | None] = []

    async def parsed() -> AsyncIterator[ingestion.ParseDocumentResponse]:
        yield ingestion.ParseDocumentResponse(blocks=[Block(text="the first half")])

    async def indexed(messages: AsyncIterator[indexing.IndexDocumentRequest]) -> AsyncIterator[Any]:
        async for message in messages:
            sent.append(message.WhichOneof("payload"))
        yield indexing.IndexDocumentResponse(result=indexing.IndexResult(chunks_expected=1, chunks_stored=1))

    async def nothing(*_: Any) -> None:
        pass

    stages = SimpleNamespace(
        ingestion=SimpleNamespace(ParseDocument=lambda request, timeout: Call(parsed())),
        indexing=SimpleNamespace(IndexDocument=lambda messages, timeout: Call(indexed(messages))),
    )
    meter, shares = SimpleNamespace(charge=lambda *_: None), SimpleNamespace(job_turn=nothing)
    pipe = BlockPipe(cast(Any, stages), ProgressBus(), cast(Any, meter), cast(Any, shares), 100.0)
    with pytest.raises(Unavailable, match="without metadata") as caught:
        await pipe.run(Scope(tenant_id="t", user_id="u"), Document(id="d", document_type="txt", revision=1), nothing)
    assert caught.value.metadata["stage"] == "ingestion"
    assert sent == ["header", "blocks"]

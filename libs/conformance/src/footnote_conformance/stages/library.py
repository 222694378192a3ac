"""Collections and documents for a suite: created in an indexing stage, and deleted after the check."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_HEADING, BLOCK_KIND_PARAGRAPH, Block, ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection

from footnote_conformance.suite import expect
from footnote_conformance.target import Refusal, Stage, request_of

TEXTS = {
    "sextant": "The sextant of the museum was made by Franklin in 1845. Its arc is of brass.",
    "theodolite": "The theodolite measures angles on the hill of Arkhus. Amundsen checks it every eleven weeks.",
    "barometer": "The barometer hangs in the hall. When it falls below 980 the flag is taken down by the caretaker.",
}


class Library:
    """One stage of indexing, on behalf of one scope."""

    def __init__(self, stage: Stage, scope: Scope) -> None:
        self.stage = stage
        self.scope = scope

    async def call(self, method: str, **fields: Any) -> Any:
        """Call a method on behalf of the scope."""
        return await self.stage.call(
            method, request_of(self.stage.contract.methods_by_name[method], self.scope, **fields)
        )

    @asynccontextmanager
    async def collection(self, name: str = "instruments", **fields: Any) -> AsyncIterator[Collection]:
        """Yield a new collection; it is deleted afterwards."""
        wanted = Collection(name=name, **fields)
        made: Collection = (await self.call("CreateCollection", collection=wanted)).collection
        try:
            yield made
        finally:
            with suppress(Refusal):
                await self.call("DeleteCollection", collection=made.id)

    async def index(self, collection: Collection, document_id: str, text: str, revision: int = 1, **fields: Any) -> Any:
        """Index a document of one section; return the result."""
        document = Document(
            id=document_id,
            collection_id=collection.id,
            tenant_id=self.scope.tenant_id,
            owner_id=self.scope.user_id,
            revision=revision,
            filename=f"{document_id}.md",
            document_type="md",
            mime_type="text/markdown",
            language="en",
            **fields,
        )
        events = await self.stage.call(
            "IndexDocument", self.messages(document, blocks_of(f"About the {document_id}", text))
        )
        expect(events and events[-1].HasField("result"), "IndexDocument ended without a result")
        return events[-1].result

    def messages(self, document: Document, blocks: Sequence[Block]) -> list[Any]:
        """Return the requests that index a document: header, blocks, metadata of parsing."""
        method = self.stage.contract.methods_by_name["IndexDocument"]
        header = request_of(method, self.scope, header={"document": document})
        found = ParsedMetadata(language="en", block_count=len(blocks))
        return [header, request_of(method, None, blocks={"blocks": blocks}), request_of(method, None, metadata=found)]

    async def fill(self, collection: Collection) -> None:
        """Index the three texts; the name of each is its document's id and only tag."""
        for name, text in TEXTS.items():
            await self.index(collection, name, text, tags=[name], metadata={"shelf": len(name)})


def blocks_of(title: str, text: str) -> list[Block]:
    """Return a heading and a paragraph, placed as the contract says: each text is followed by one line feed."""
    blocks = [
        Block(kind=BLOCK_KIND_HEADING, text=title, level=1),
        Block(kind=BLOCK_KIND_PARAGRAPH, text=text),
    ]
    start = 0
    for line, block in enumerate(blocks, 1):
        block.locator.span.start, block.locator.span.end = start, start + len(block.text)
        block.locator.lines.first_line = block.locator.lines.last_line = line
        start += len(block.text) + 1
    blocks[1].locator.heading_path.append(title)
    return blocks

"""Turns blocks into chunks that are ready to be embedded and stored, by the collection's strategy or a chosen one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from footnote.stages.v1 import parsing_pb2, passage_pb2, stored_document_pb2
from footnote.types.v1 import chunk_pb2, collection_pb2, document_pb2
from footnote_store.ids import chunk_id
from footnote_text import language, tokens
from footnote_text.lexical import lexical_text

from footnote_indexing.chunking.assemble import TextWindow
from footnote_indexing.chunking.model import UNDECIDED, Chosen, Chunker, Cut, PlacedBlock, SentenceVectors
from footnote_indexing.chunking.registry import make_chunker

_LOOK_BLOCKS, _LOOK_CHARACTERS = 400, 100_000
"""How much of a document AUTO reads before it chooses; blocks are held back until then."""
_LANGUAGE_FIRST, _LANGUAGE_LAST = 4000, 64_000
"""Number of characters after which the language is detected again; it doubles each time the language has not changed.
"""
_SEPARATOR = " › "
_MOST_BYTES = 45_000
"""Maximum size of a chunk besides its text, within the store's limit."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk with the text to embed ("" for a parent, which is not embedded) and its search terms."""

    chunk: passage_pb2.Chunk
    embedded_text: str
    lexical_text: str


class Drafter:
    """Cuts one revision of a document; runs on a thread, and calls must not overlap."""

    def __init__(
        self,
        document: stored_document_pb2.Document,
        settings: collection_pb2.CollectionSettings,
        sentence_vectors: SentenceVectors,
    ) -> None:
        self._chunking = settings.chunking
        self._sentence_vectors = sentence_vectors
        self._document = document
        self._window = TextWindow()
        self._waiting: list[PlacedBlock] = []
        self._waiting_characters = 0
        self._chunker: Chunker | None = None
        self._title = document.title
        self._heading = ""
        self._languages = _LanguageTracker(document.language)
        self._base: passage_pb2.Chunk | None = None
        self._parent_id = ""
        self.ordinal = 0
        self.characters = 0
        self.chosen: Chosen = UNDECIDED

    @property
    def language(self) -> str:
        """The language of most of the text, "" if unsure."""
        return self._languages.main()

    def feed(self, blocks: Sequence[parsing_pb2.Block]) -> list[Draft]:
        """Take the next blocks; return completed chunks. Raises InvalidArgument for blocks out of place."""
        placed = self._window.place(blocks)
        self.characters += sum(len(block.text) for block in placed)
        placed = [block for block in placed if not block.is_furniture]
        if self._chunker is not None:
            return self._draft(self._chunker.feed(placed))
        self._waiting += placed
        self._waiting_characters += sum(len(block.text) for block in placed)
        if len(self._waiting) < _LOOK_BLOCKS and self._waiting_characters < _LOOK_CHARACTERS:
            return []
        return self._begin()

    def finish(self, parsed: parsing_pb2.ParsedMetadata) -> list[Draft]:
        """Return the last chunks; title and language found by parsing fill empty fields."""
        drafts: list[Draft] = []
        if self._chunker is None:
            self._title = parsed.title or self._title
            self._languages.hint(parsed.language)
            drafts += self._begin()
        assert self._chunker is not None
        return drafts + self._draft(self._chunker.finish())

    def _begin(self) -> list[Draft]:
        """Choose the chunker and pass it the held-back blocks."""
        strategy, choice = self._chunking.strategy, document_pb2.CHUNKING_CHOICE_CONFIGURED
        if strategy == collection_pb2.CHUNKING_STRATEGY_AUTO:
            strategy, choice = choose(self._waiting)
        self._chunker = make_chunker(strategy, self._chunking, self._sentence_vectors)
        self.chosen = strategy, choice
        self._heading = next((b.text for b in self._waiting if b.is_heading and b.block.level <= 1), "")
        self._base = _base(self._document, self._title or self._heading, strategy)
        waiting, self._waiting = self._waiting, []
        return self._draft(self._chunker.feed(waiting))

    def _draft(self, cuts: Sequence[Cut]) -> list[Draft]:
        drafts = [self._one(cut) for cut in cuts]
        if cuts:
            self._window.forget(cuts[-1].parent[0] if cuts[-1].parent else cuts[-1].start)
        return drafts

    def _one(self, cut: Cut) -> Draft:
        assert self._base is not None
        passage = self._window.passage(cut)
        chunk = passage_pb2.Chunk()
        chunk.CopyFrom(self._base)
        chunk.id = chunk_id(self._document.id, self._document.revision, self.ordinal)
        chunk.ordinal = self.ordinal
        chunk.text = passage.text
        chunk.locator.CopyFrom(passage.locator)
        chunk.anchors.extend(passage.anchors)
        chunk.tables.extend(passage.tables)
        chunk.level = cut.level
        chunk.language = self._languages.of(passage.text)
        chunk.token_count = tokens.count(passage.text)
        _bound(chunk)
        self.ordinal += 1
        if cut.level == chunk_pb2.CHUNK_LEVEL_PARENT:
            self._parent_id = chunk.id
            return Draft(chunk, "", "")
        if cut.level == chunk_pb2.CHUNK_LEVEL_CHILD:
            chunk.parent_id = self._parent_id
        text = embedded_text(chunk, self._chunking.contextual_header)
        return Draft(chunk, text, lexical_text(text, chunk.language))


class _LanguageTracker:
    """Tracks the language of the text; it may change within a document, but is not detected for every sentence."""

    def __init__(self, hint: str) -> None:
        self._current = hint
        self._seen: dict[str, int] = {}
        self._interval = _LANGUAGE_FIRST
        self._unlooked = _LANGUAGE_LAST

    def hint(self, code: str) -> None:
        """Use the language found by parsing for text that is too short to detect."""
        self._current = code or self._current

    def of(self, text: str) -> str:
        """Return the language of the next passage."""
        self._unlooked += len(text)
        if self._unlooked >= self._interval:
            self._unlooked = 0
            found = language.detect(text)
            unchanged = found in ("", self._current)
            self._interval = min(2 * self._interval, _LANGUAGE_LAST) if unchanged else _LANGUAGE_FIRST
            self._current = found or self._current
        self._seen[self._current] = self._seen.get(self._current, 0) + len(text)
        return self._current

    def main(self) -> str:
        """Return the language of most of the text."""
        return max(self._seen, key=self._seen.__getitem__, default="")


def _base(
    document: stored_document_pb2.Document, title: str, strategy: collection_pb2.ChunkingStrategy.ValueType
) -> passage_pb2.Chunk:
    """Return the fields that all chunks of a revision share."""
    chunk = passage_pb2.Chunk(
        tenant_id=document.tenant_id,
        owner_id=document.owner_id,
        collection_id=document.collection_id,
        document_id=document.id,
        revision=document.revision,
        title=title,
        filename=document.filename,
        mime_type=document.mime_type,
        document_type=document.document_type,
        source_type=document.source_type,
        chunking_strategy=strategy,
        sha256=document.sha256,
        tags=document.tags,
    )
    if document.HasField("metadata"):
        chunk.metadata.CopyFrom(document.metadata)
    if document.HasField("create_time"):
        chunk.create_time.CopyFrom(document.create_time)
    if document.HasField("expire_time"):
        chunk.expire_time.CopyFrom(document.expire_time)
    return chunk


def _bound(chunk: passage_pb2.Chunk) -> None:
    """Drop the anchors' headings, then the anchors, of a chunk whose cells would exceed the store's limit."""
    text_bytes = len(chunk.text.encode())
    if chunk.ByteSize() - text_bytes <= _MOST_BYTES:
        return
    for anchor in chunk.anchors:
        anchor.locator.ClearField("heading_path")
    if chunk.ByteSize() - text_bytes > _MOST_BYTES:
        chunk.ClearField("anchors")
        chunk.ClearField("tables")


def embedded_text(chunk: passage_pb2.Chunk, with_header: bool) -> str:
    """Return a chunk's text for embedding and word search; `with_header` puts "title › headings" before it."""
    if not with_header:
        return chunk.text
    parts: list[str] = []
    for part in (chunk.title, *chunk.locator.heading_path):
        # Do not repeat a header with which the passage itself begins.
        if part and part not in parts and not chunk.text.startswith(part):
            parts.append(part)
    return f"{_SEPARATOR.join(parts)}\n{chunk.text}" if parts else chunk.text


def fingerprint(document: stored_document_pb2.Document, settings: collection_pb2.CollectionSettings) -> str:
    """Return the digest that shows whether an earlier attempt cut and embedded the revision in the same way."""
    digest = hashlib.sha256(b"footnote-1")
    digest.update(document.sha256.encode())
    _add_settings(digest, settings)
    return digest.hexdigest()


def settings_digest(settings: collection_pb2.CollectionSettings) -> str:
    """Return the digest of the settings that decide how documents are cut and embedded."""
    digest = hashlib.sha256(b"footnote-1")
    _add_settings(digest, settings)
    return digest.hexdigest()


def _add_settings(digest: hashlib._Hash, settings: collection_pb2.CollectionSettings) -> None:
    digest.update(settings.chunking.SerializeToString(deterministic=True))
    digest.update(settings.embedding.SerializeToString(deterministic=True))


def choose(blocks: Sequence[PlacedBlock]) -> Chosen:
    """Return the strategy for a document that begins with these blocks, and the reason for it."""
    rows = sum(len(block.text) for block in blocks if block.is_row)
    characters = sum(len(block.text) for block in blocks)
    if rows * 2 >= max(characters, 1):
        return collection_pb2.CHUNKING_STRATEGY_TABLE, document_pb2.CHUNKING_CHOICE_TABLE_FOUND
    headings = _count(blocks, (parsing_pb2.BLOCK_KIND_HEADING,))
    if headings >= 2:
        return collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION, document_pb2.CHUNKING_CHOICE_HEADINGS_FOUND
    paragraphs = _count(blocks, (parsing_pb2.BLOCK_KIND_PARAGRAPH, parsing_pb2.BLOCK_KIND_LIST_ITEM))
    if paragraphs >= 2:
        return collection_pb2.CHUNKING_STRATEGY_PARAGRAPH, document_pb2.CHUNKING_CHOICE_PARAGRAPHS_FOUND
    return collection_pb2.CHUNKING_STRATEGY_FIXED_WINDOW, document_pb2.CHUNKING_CHOICE_NO_STRUCTURE


def _count(blocks: Iterable[PlacedBlock], kinds: tuple[parsing_pb2.BlockKind.ValueType, ...]) -> int:
    return sum(1 for block in blocks if block.block.kind in kinds)

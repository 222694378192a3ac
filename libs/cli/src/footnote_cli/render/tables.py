"""Renders lists as tables: documents, collections, search results, audit events, failures, providers, health."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from footnote.edge.v1.audit_pb2 import (
    AUDIT_OUTCOME_REFUSED,
    AUDIT_OUTCOME_SUCCEEDED,
    AuditDoor,
    AuditEvent,
)
from footnote.edge.v1.chunks_pb2 import Chunk, ScoredChunk
from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.edge.v1.documents_pb2 import Document
from footnote.edge.v1.system_pb2 import GetHealthResponse
from footnote.types.v1 import chunk_pb2, collection_pb2, document_pb2, provider_pb2
from footnote.types.v1.collection_pb2 import Collection, Grant
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote.types.v1.provider_pb2 import Provider
from footnote_kit import printable as kit_words
from footnote_kit.printable import printable, printable_line
from footnote_text.locators import label
from google.rpc.code_pb2 import Code
from rich.table import Table
from rich.text import Text

from footnote_cli.render import reasons, words
from footnote_cli.render.fitted import FittedTable
from footnote_cli.render.text import milliseconds, moment, one_line, seconds, size

_MOST_PLACES = 20  # other places of a passage that are shown

STATE_STYLES = {"indexed": "green", "error": "red", "processing": "yellow", "uploaded": "yellow"}


def enum_word(enum: Any, value: int) -> str:
    """Return an enum value as a word: DOCUMENT_STATE_INDEXED is "indexed"; unspecified is ""."""
    word = kit_words.enum_word(enum.DESCRIPTOR, value).lower()
    return "" if word == "unspecified" else word


def state_word(document: Document) -> Text:
    """Return a document's state, and what it waits for, in its colour."""
    word = enum_word(document_pb2.DocumentState, document.state)
    waiting = words.waiting(document)
    return Text(word + (f" ({waiting})" if waiting else ""), style=STATE_STYLES.get(word, ""))


def documents(items: Iterable[Document]) -> FittedTable:
    """Return documents with their state and the reasons of failures."""
    result = FittedTable(
        "File",
        "Collection",
        "State",
        "Chunks",
        "Size",
        "Uploaded",
        "Id",
        right=("Chunks", "Size"),
        optional=("Uploaded", "Size", "Collection", "Chunks"),
        whole=("Uploaded", "Id"),
    )
    for item in items:
        name = Text(printable_line(item.filename))
        if item.failure.message:
            name.append(f"\n{printable_line(item.failure.message)}", style="red")
        result.add_row(
            name,
            item.collection or item.collection_id,
            state_word(item),
            str(item.chunk_count) if item.chunk_count else "",
            size(item.size_bytes),
            moment(item.create_time),
            item.id,
        )
    return result


def failures(items: Iterable[tuple[str, str, str]]) -> FittedTable:
    """Return failures: file, reason, and next step."""
    result = FittedTable("File", "Why", "What to do")
    for filename, why, hint in items:
        result.add_row(
            Text(printable_line(filename), style="bold"), Text(printable_line(why), style="red"), printable_line(hint)
        )
    return result


def collections(items: Iterable[Collection]) -> FittedTable:
    """Return collections with their counts, embedding model, visibility and owner."""
    result = FittedTable(
        "Name",
        "Documents",
        "Chunks",
        "Embedding",
        "Visibility",
        "Owner",
        "Description",
        right=("Documents", "Chunks"),
        optional=("Description", "Embedding", "Owner", "Visibility"),
    )
    for item in items:
        embedding = item.settings.embedding
        result.add_row(
            Text(printable_line(item.name), style="bold"),
            str(item.document_count),
            _chunks(item),
            "/".join(part for part in (embedding.provider, embedding.model) if part),
            enum_word(collection_pb2.Visibility, item.visibility),
            Text(item.owner_id),
            one_line(item.description, 80),
        )
    return result


def grants(items: Iterable[Grant]) -> FittedTable:
    """Return the grantees of a collection with their access."""
    result = FittedTable("Shared with", "May")
    for item in items:
        who = f"user {item.user_id}" if item.user_id else f"group {item.group}"
        result.add_row(Text(who), "read and write" if item.access == collection_pb2.ACCESS_WRITE else "read")
    return result


def place(chunk: Chunk) -> str:
    """Return a chunk's place in the form of footnotes."""
    return label(chunk.filename, chunk.locator)


def conversations(items: Iterable[Conversation]) -> FittedTable:
    """Return conversations with their length and when they were last used."""
    result = FittedTable(
        "Title",
        "Messages",
        "Last used",
        "Id",
        right=("Messages",),
        optional=("Last used", "Messages"),
        whole=("Last used", "Id"),
    )
    for item in items:
        result.add_row(Text(printable_line(item.title)), str(item.message_count), moment(item.update_time), item.id)
    return result


def search_results(items: Sequence[ScoredChunk]) -> FittedTable:
    """Return search results, best first: score, place with the other places of the same text, the passage in short."""
    result = FittedTable("#", "Score", "Where", "Passage", right=("#", "Score"))
    for number, item in enumerate(items, start=1):
        passage = one_line(item.chunk.text, 240)
        result.add_row(str(number), f"{item.score:.3f}", _places(item), passage)
    return result


def _places(item: ScoredChunk) -> Text:
    """Return the place of a passage, and below it where else the same text stands."""
    result = Text().append(printable_line(place(item.chunk)), style="bold")
    for one in item.repetitions[:_MOST_PLACES]:
        result.append(f"\nalso {printable_line(label(one.filename or one.document_id, one.locator))}")
    if (more := len(item.repetitions) - _MOST_PLACES) > 0:
        result.append(f"\nand {more} more")
    return result


def chunks(items: Sequence[Chunk]) -> FittedTable:
    """Return a document's chunks in reading order: place, boundaries in its text, the passage in short."""
    result = FittedTable(
        "#", "Where", "Characters", "Tokens", "Passage", "Id",
        right=("#", "Characters", "Tokens"), optional=("Id", "Tokens", "Characters"), whole=("Id", "Characters"),
    )  # fmt: skip
    for item in items:
        span = item.locator.span
        child = "  " if item.level == chunk_pb2.CHUNK_LEVEL_CHILD else ""
        result.add_row(
            str(item.ordinal),
            Text(printable_line(child + place(item)), style="bold"),
            f"{span.start}–{span.end}",
            str(item.token_count),
            one_line(item.text, 160),
            item.id,
        )
    return result


def explanation(items: Sequence[ScoredChunk]) -> FittedTable:
    """Return the parts of each score: a line per channel and adjustment."""
    result = FittedTable(
        "#",
        "Where",
        "Part",
        "Raw",
        "Score",
        "Rank",
        "Weight",
        "Adds",
        right=("#", "Raw", "Score", "Rank", "Weight", "Adds"),
        optional=("Where", "Rank", "Raw"),  # the numbers refer to the results
    )
    for number, item in enumerate(items, start=1):
        result.add_row(
            str(number),
            Text(printable_line(place(item.chunk)), style="bold"),
            "final",
            "",
            f"{item.score:.3f}",
            "",
            "",
            "",
        )
        for channel in item.channels:
            name = enum_word(chunk_pb2.SearchChannel, channel.channel)
            added = _signed(channel.score * channel.weight)
            parts = (
                name,
                f"{channel.raw_score:.3f}",
                f"{channel.score:.3f}",
                str(channel.rank),
                f"{channel.weight:.2f}",
                added,
            )
            result.add_row("", "", *parts)
        for adjustment in item.adjustments:
            said = reasons.adjustment(adjustment)
            result.add_row("", "", Text(said, style="dim"), "", "", "", "", _signed(adjustment.delta))
    return result


def _signed(value: float) -> str:
    """Return a number with its sign, unless it rounds to zero."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def providers(items: Iterable[Provider]) -> FittedTable:
    """Return registered providers with their capabilities."""
    result = FittedTable("Kind", "Id", "Name", "Default model", "Can", optional=("Can", "Name"), whole=("Kind", "Id"))
    for item in items:
        kind = enum_word(provider_pb2.ProviderKind, item.kind)
        result.add_row(
            kind, Text(item.id, style="bold"), item.display_name, item.default_model, ", ".join(item.capabilities)
        )
    return result


def health(response: GetHealthResponse) -> FittedTable:
    """Return the health of every part, its response time, and the longest recent delay of callers."""
    late = any(part.HasField("event_loop_lag") for part in response.components)
    held = ("Held up",) if late else ()
    result = FittedTable("Part", "State", "Answered in", *held, "Why", right=("Answered in", *held))
    for part in response.components:
        state = Text("healthy", style="green") if part.healthy else Text("down", style="red")
        took = seconds(part.latency)
        known = part.HasField("event_loop_lag")
        lag = (milliseconds(seconds(part.event_loop_lag) * 1000) if known else "",) if late else ()
        result.add_row(part.name, state, milliseconds(took * 1000) if took else "", *lag, part.error)
    return result


def limits(found: Mapping[str, Mapping[str, float]]) -> FittedTable:
    """Return tenants' limits: "-" for the deployment's, "none" for no limit."""
    names = ("documents", "bytes", "collections", "tokens_per_day", "cost_per_day")
    result = FittedTable("Tenant", "Documents", "Bytes", "Collections", "Tokens a day", "USD a day", whole=("Tenant",))
    for tenant, own in found.items():
        result.add_row(
            tenant, *("-" if name not in own else f"{own[name]:.12g}" if own[name] else "none" for name in names)
        )
    return result


def keys(items: Sequence[Mapping[str, Any]]) -> FittedTable:
    """Return API keys: owner, permissions and expiry; the tenant if there may be several."""
    tenants = ["Tenant"] if any("tenant_id" in item for item in items) else []
    columns = ("Id", "Label", *tenants, "User", "Groups", "Role", "State")
    result = FittedTable(*columns, optional=("Groups", "User", *tenants), whole=("Id",))
    for item in items:
        ends = item["expire_time"] and f"until {item['expire_time']}"
        state = Text("revoked", style="red") if item["revoke_time"] else Text(ends or "valid", style="green")
        tenant = [item["tenant_id"]] if tenants else []
        groups = ", ".join(item["groups"])
        result.add_row(item["id"], Text(item["label"]), *tenant, item["user_id"], groups, item["role"], state)
    return result


def fields(values: Mapping[str, str]) -> Table:
    """Return names and values in two columns."""
    result = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    result.add_column(style="dim")
    result.add_column(overflow="fold")
    for name, value in values.items():
        result.add_row(Text(printable_line(name)), Text(printable(value)))
    return result


def _chunks(collection: collection_pb2.Collection) -> str:
    """Return the number of searched chunks, and the progress of making their vectors."""
    count, lacking = collection.chunk_count, min(collection.chunks_without_vector, collection.chunk_count)
    return f"{count} (meaning {1 - lacking / count:.0%})" if lacking else str(count)


def events(found: Sequence[AuditEvent]) -> FittedTable:
    """Return events as a table, with the tenant if there are several."""
    tenants = ["Tenant"] if len({event.tenant_id for event in found}) > 1 else []
    columns = ("Time", *tenants, "By", "From", "Action", "Resource", "Outcome")
    result = FittedTable(*columns, optional=("From", "Resource", *tenants), whole=("Time",))
    for event in found:
        tenant = [Text(event.tenant_id or "-")] if tenants else []
        result.add_row(
            moment(event.create_time), *tenant, Text(_who(event)), Text(_where(event)), Text(event.action or "mixed"),
            Text(event.resource), _ended(event),
        )  # fmt: skip
    return result


def _who(event: AuditEvent) -> str:
    key = f"key {event.key_id}" if event.key_id else ""
    return " ".join(part for part in (event.user_id, key) if part) or "unknown"


def _where(event: AuditEvent) -> str:
    door = enum_word(AuditDoor, event.door) if event.door else ""
    return " ".join(part for part in (event.address, door) if part)


def _ended(event: AuditEvent) -> Text:
    times = f" ×{event.count}" if event.count > 1 else ""
    if event.outcome == AUDIT_OUTCOME_SUCCEEDED:
        return Text(f"done{times}", style="green")
    style = "red" if event.outcome == AUDIT_OUTCOME_REFUSED else "yellow"
    reason = kit_words.enum_word(ErrorReason.DESCRIPTOR, event.reason) if event.reason else Code.Name(event.code)
    return Text(f"{reason}{times}", style=style)

"""Which falsification each check of `footnote conformance` finds, by stage."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from grpc_health.v1 import health_pb2

from support.falsifying import (
    PROOF,
    Call,
    Change,
    Go,
    Messages,
    added,
    answered,
    dropped,
    for_the_first_caller,
    ignored,
    of,
    put,
    refuse,
    signed,
    swallowed,
    turned,
    undone,
)

SOMEBODY = Scope(tenant_id="t", user_id="u")


async def is_not_serving(call: Call, go: Go) -> Messages:
    if "grpc.health" in call.path:
        return [health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)]
    return await go(call)


async def reflects_nothing(call: Call, go: Go) -> Messages:
    if "reflection" in call.path:
        raise refuse(grpc.StatusCode.UNIMPLEMENTED)
    return await go(call)


async def says_not_why(call: Call, go: Go) -> Messages:
    try:
        return await go(call)
    except grpc.aio.AioRpcError as error:
        raise refuse(error.code(), error.details() or "") from None


@of()
async def makes_up_a_scope(call: Call, go: Go) -> Messages:
    scope = call.requests[0].scope
    if not (scope.tenant_id and scope.user_id):
        signed(call, SOMEBODY)
    return await go(call)


@of()
async def believes_everybody(call: Call, go: Go) -> Messages:
    signed(call, call.requests[0].scope)
    return await go(call)


@of()
async def takes_everybody_for_a_service(call: Call, go: Go) -> Messages:
    scope = Scope()
    scope.CopyFrom(call.requests[0].scope)
    scope.roles.append(ROLE_SYSTEM)
    signed(call, scope)
    return await go(call)


def _known(message: Message) -> None:
    """Take every number out that an enum does not have."""
    for field, value in message.ListFields():
        if field.enum_type is not None:
            values = value if field.is_repeated else [value]
            if any(one not in field.enum_type.values_by_number for one in values):
                message.ClearField(field.name)
        elif field.message_type is not None and not field.message_type.full_name.startswith("google."):
            parts = value.values() if field.message_type.GetOptions().map_entry else value
            for part in parts if field.is_repeated else [value]:
                if isinstance(part, Message):
                    _known(part)


@of()
async def takes_any_enum(call: Call, go: Go) -> Messages:
    for one in call.requests:
        _known(one)
    return await go(call)


@of()
async def begins_at_the_first_page(call: Call, go: Go) -> Messages:
    if hasattr(call.requests[0], "page_token"):
        call.requests[0].page_token = ""
    return await go(call)


async def is_stuck_after_a_call_that_was_broken_off(call: Call, go: Go) -> Messages:
    if call.state.get("stuck"):
        raise refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "no worker is left")
    try:
        # So that a call can be cancelled here: one with a short deadline waits until it expires.
        await asyncio.sleep(1 if call.timeout is not None and call.timeout < 1 else 0.05)
        return await go(call)
    except asyncio.CancelledError:
        call.state["stuck"] = True
        raise


async def does_one_thing_at_a_time(call: Call, go: Go) -> Messages:
    if call.state.get("working"):
        raise refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "one at a time")
    call.state["working"] = True
    try:
        await asyncio.sleep(0.05)
        return await go(call)
    finally:
        call.state["working"] = False


def _proven(call: Call) -> bytes:
    """Return the bytes of the scope in a call's proof."""
    proof = next((value for key, value in call.headers if key == PROOF), "")
    text = proof.split(".")[5] if proof.count(".") == 6 else ""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4)) if len(text) % 4 != 1 else b""


def _not_believed() -> grpc.aio.AioRpcError:
    return refuse(grpc.StatusCode.UNAUTHENTICATED, "the scope is not believed")


@of()
async def writes_the_scope_again(call: Call, go: Go) -> Messages:
    content = _proven(call)
    if Scope.FromString(content).SerializeToString() != content:
        raise _not_believed()
    return await go(call)


@of()
async def refuses_what_it_does_not_know(call: Call, go: Go) -> Messages:
    if UnknownFieldSet(Scope.FromString(_proven(call))):
        raise _not_believed()
    return await go(call)


@of()
async def has_room_for_eight_kilobytes(call: Call, go: Go) -> Messages:
    if sum(len(key) + len(value) for key, value in call.headers) > 8192:
        raise refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "received metadata size exceeds limit")
    return await go(call)


@of()
async def takes_proofs_of_one_method_only(call: Call, go: Go) -> Messages:
    if any(".*." in value for _, value in call.headers):
        raise _not_believed()
    return await go(call)


COMMON: dict[str, Change] = {
    "health-is-served": is_not_serving,
    "reflection-is-served": reflects_nothing,
    "empty-requests-end-with-a-reason": says_not_why,
    "scope-is-required": makes_up_a_scope,
    "scope-is-proven": believes_everybody,
    "the-message-says-the-scope-that-is-proven": believes_everybody,
    "good-proofs-are-taken": takes_proofs_of_one_method_only,
    "fields-of-a-later-scope-are-no-obstacle": refuses_what_it_does_not_know,
    "a-scope-counts-as-it-travels": writes_the_scope_again,
    "the-largest-scope-is-taken": has_room_for_eight_kilobytes,
    "all-tenants-are-for-services": takes_everybody_for_a_service,
    "unknown-enum-numbers-are-refused": takes_any_enum,
    "bounds-are-kept": swallowed("INVALID_FIELD"),
    "paging-is-checked": begins_at_the_first_page,
    "deadlines-end-calls": is_stuck_after_a_call_that_was_broken_off,
    "cancelled-calls-leave-nothing": is_stuck_after_a_call_that_was_broken_off,
    "calls-run-side-by-side": does_one_thing_at_a_time,
}


def _loses_the_last_part(call: Call, go: Go) -> Any:
    async def lost() -> Messages:
        return (await go(call))[:-1]

    return lost()


def _shifted(one: Any) -> None:
    for block in one.blocks:
        block.locator.span.start += 1


INGESTION: dict[str, Change] = {
    "an-upload-is-a-document": dropped("UploadDocument", "document.sha256"),
    "downloads-are-what-was-uploaded": of("DownloadDocument")(_loses_the_last_part),
    "the-searched-file-is-kept": ignored("DownloadDocument", "revision"),
    "blocks-have-exact-places": answered("ParseDocument", _shifted),
    "documents-go-through-their-states": swallowed("ILLEGAL_STATE", "UpdateDocumentState"),
    "the-same-bytes-are-one-document": put("UploadDocument", "metadata.allow_duplicate", True),
    "bad-files-are-refused": swallowed("FILE_UNSUPPORTED", "UploadDocument"),
    "uploads-say-where-they-go": swallowed("COLLECTION_NOT_FOUND", "UploadDocument"),
    "nothing-of-another-tenant-is-visible": for_the_first_caller,
    "documents-come-in-pages": turned("ListDocuments", "documents"),
    "changes-need-the-current-etag": ignored("UpdateDocument", "resource.etag"),
    "deleted-documents-are-gone": undone("DeleteDocument", always=True),
    "replacements-are-revisions": dropped("ReplaceDocument", "unchanged"),
    "changes-are-listed-since-a-time": dropped("ListDocumentChanges", "deleted"),
}


async def _completes(call: Call, go: Go) -> Messages:
    if not any(one.HasField("metadata") for one in call.requests):
        last = type(call.requests[0])()
        last.metadata.SetInParent()
        call.requests.append(last)
    return await go(call)


async def _forgets_after_a_change(call: Call, go: Go) -> Messages:
    call.state["changed"] = call.state.get("changed") or call.method == "UpdateCollection"
    responses = await go(call)
    for one in responses if call.method == "ListChunks" and call.state["changed"] else ():
        del one.chunks[:]
    return responses


async def _adds_what_it_can(call: Call, go: Go) -> Messages:
    try:
        return await go(call)
    except grpc.aio.AioRpcError:
        del call.requests[0].rows[-1]
        await go(call)
        raise


INDEXING: dict[str, Change] = {
    "a-collection-is-made-and-found": dropped("GetCollection", "collection.description"),
    "names-are-taken-once": swallowed("COLLECTION_EXISTS", "CreateCollection"),
    "validating-makes-nothing": ignored("CreateCollection", "validate_only"),
    "absent-collections-are-not-found": swallowed("COLLECTION_NOT_FOUND", "ListChunks"),
    "nothing-of-another-tenant-is-visible": for_the_first_caller,
    "readers-make-no-collections": swallowed("PERMISSION_DENIED", "CreateCollection"),
    "a-document-becomes-searchable": added("IndexDocument", "result.chunks_stored"),
    "revisions-replace-one-another": put("IndexDocument", "header.document.revision", 1),
    "a-broken-off-document-is-not-visible": of("IndexDocument")(_completes),
    "removed-chunks-are-gone": undone("DeleteDocumentChunks"),
    "a-deleted-collection-is-gone": undone("DeleteCollection"),
    "collections-come-in-pages": turned("ListCollections", "collections"),
    "stale-etags-change-nothing": ignored("UpdateCollection", "resource.etag"),
    "masks-say-what-changes": ignored("UpdateCollection", "update_mask"),
    "new-settings-leave-what-is-indexed": of("UpdateCollection", "ListChunks")(_forgets_after_a_change),
    "deleting-needs-ownership": swallowed("PERMISSION_DENIED", "DeleteCollection"),
    "collections-are-resolved-in-order": turned("ResolveCollections", "collections"),
    "access-is-reported": for_the_first_caller,
    "hidden-collections-are-out-of-sight": undone("HideCollection", always=True),
    "cancelled-revisions-never-become-searchable": undone("CancelDocument", always=True),
    "chunks-take-their-documents-labels": ignored("UpdateDocumentChunks", "document.tags"),
    "own-vectors-are-kept": swallowed("VECTOR_NOT_FOUND", "DeleteVectors"),
    "vectors-are-added-all-or-none": of("AddVectors")(_adds_what_it_can),
    "providers-and-counts-are-listed": dropped("ListProviders", "providers.kind"),
}
RETRIEVAL: dict[str, Change] = {
    "the-best-passage-comes-first": turned("Retrieve", "chunks"),
    "filters-are-respected": ignored("Retrieve", "filter"),
    "wrong-filters-are-refused": ignored("Retrieve", "filter"),
    "limits-and-pages-are-kept": ignored("Retrieve", "page_token"),
    "scores-are-explained": dropped("Retrieve", "chunks.channels"),
    "nothing-of-another-tenant-is-found": for_the_first_caller,
    "chunks-are-queried-by-metadata": ignored("QueryChunks", "limit"),
    "queries-are-required": swallowed("INVALID_FIELD", "Retrieve"),
    "vectors-of-another-length-are-refused": ignored("Retrieve", "query_vector"),
    "settings-in-use-are-reported": ignored("Retrieve", "settings"),
    "an-empty-memory-is-no-failure": ignored("SearchMemory", "enabled"),
    "memory-is-of-the-same-user": for_the_first_caller,
}


async def _answers_the_secret_to_all(call: Call, go: Go) -> Messages:
    """What was made of the request with the secret in it is what everybody gets."""
    there: asyncio.Event = call.state.setdefault("there", asyncio.Event())
    if "marzipan" in str(call.requests[0]).lower():
        call.state["secret"] = await go(call)
        there.set()
    async with asyncio.timeout(240):
        await there.wait()
    return call.state["secret"]


def _paraphrased(one: Any) -> None:
    for source in one.sources:
        source.text = source.text.upper()


def _gapped(one: Any) -> None:
    for source in one.sources:
        source.number *= 2


def _silent(one: Any) -> None:
    del one.token_plan.entries[-1]


def _renewed(one: Any) -> None:
    one.prompt.hash = "0" * 64


AUGMENTATION: dict[str, Change] = {
    "sources-are-numbered-from-1-without-gaps": answered("BuildPrompt", _gapped),
    "the-prompt-holds-what-the-sources-say": answered("BuildPrompt", _paraphrased),
    "the-budget-is-kept": ignored("BuildPrompt", "prompt"),
    "what-is-dropped-is-named-with-a-reason": answered("BuildPrompt", _silent),
    "instructions-history-and-question-stand-in-order": turned("BuildPrompt", "prompt.messages"),
    "history-is-limited": ignored("BuildPrompt", "prompt.history_messages"),
    "the-same-request-gives-the-same-prompt": answered("BuildPrompt", _renewed),
    "without-sources-there-are-none": ignored("BuildPrompt", "without_sources"),
    "named-documents-keep-a-source": ignored("BuildPrompt", "named_document_ids"),
    "settings-in-use-are-reported": dropped("BuildPrompt", "prompt_settings.history_messages"),
    "required-fields-are-asked-for": swallowed("INVALID_FIELD", "PlanQuery"),
    "unknown-rerankers-are-refused": ignored("BuildPrompt", "rerank"),
    "queries-are-planned": dropped("PlanQuery", "should_retrieve"),
    "nothing-of-another-tenant-is-in-a-prompt": of("BuildPrompt")(_answers_the_secret_to_all),
    "budgets-out-of-range-are-refused": ignored("BuildPrompt", "prompt"),
}


async def _splits_markers(call: Call, go: Go) -> Messages:
    events: Messages = []
    for event in await go(call):
        head, bracket, tail = event.text_delta.partition("[")
        if not bracket:
            events.append(event)
            continue
        events += [type(event)(text_delta=head + bracket), type(event)(text_delta=tail)]
    return events


async def _never_completes(call: Call, go: Go) -> Messages:
    return [event for event in await go(call) if not event.HasField("completed")]


GENERATION: dict[str, Change] = {
    "the-stream-ends-with-completed": of("Generate")(_never_completes),
    "markers-are-never-split": of("Generate")(_splits_markers),
    "citations-name-given-sources-only": added("Generate", "completed.answer.citations.number", 40),
    "citation-spans-are-exact": added("Generate", "completed.answer.citations.quote_span.start"),
    "sentences-have-verdicts": dropped("Generate", "completed.answer.claims"),
    "a-greeting-needs-no-sources": ignored("Generate", "without_sources"),
    "settings-in-use-are-reported": ignored("Generate", "settings"),
    "required-fields-are-asked-for": swallowed("INVALID_FIELD", "GenerateTitle"),
    "unknown-providers-are-refused": ignored("Generate", "settings"),
    "titles-are-short": added("GenerateTitle", "title", " and so on" * 6),
    "providers-are-listed": dropped("ListProviders", "providers.settings_schema"),
    "a-cancelled-answer-ends": is_stuck_after_a_call_that_was_broken_off,
    "nothing-of-another-tenant-is-in-an-answer": of("Generate")(_answers_the_secret_to_all),
    "statements-are-judged": dropped("VerifyStatements", "claims.span"),
}
STAGES: Mapping[str, Mapping[str, Change]] = {
    "ingestion": INGESTION,
    "indexing": INDEXING,
    "retrieval": RETRIEVAL,
    "augmentation": AUGMENTATION,
    "generation": GENERATION,
}

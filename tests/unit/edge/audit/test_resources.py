"""What an event says of a call's messages: names of the contract and identifiers, nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1 import (
    answers_pb2,
    collections_pb2,
    conversations_pb2,
    documents_pb2,
    keys_pb2,
    limits_pb2,
    providers_pb2,
)
from footnote_edge.audit import resources
from footnote_edge.audit.coverage import AUDITED
from footnote_kit.edge import METHODS

ROOT = Path(__file__).resolve().parents[4]
METHOD = {method.name: method for method in METHODS}


@pytest.mark.parametrize("name", AUDITED)
def test_what_is_declared_is_in_the_contract(name: str) -> None:
    declared, method = AUDITED[name], METHOD[name]
    output = method.output_type
    if declared.each:
        output = output.fields_by_name[declared.each].message_type
        assert "error" in output.fields_by_name
    for message, path in (
        (method.input_type, declared.named), (method.input_type, declared.changes), (output, declared.made),
    ):  # fmt: skip
        for part in path.split(".") if path else ():
            assert part in message.fields_by_name, f"{name}: {path}"
            message = message.fields_by_name[part].message_type
    assert declared.named or declared.made
    for _, path in declared.within:
        assert any(_has(message, path) for message in (method.input_type, output)), f"{name}: {path}"


@pytest.mark.parametrize("name", AUDITED)
def test_what_is_declared_is_in_the_documents(name: str) -> None:
    """An administrator who does not find a change of sources there concludes that it leaves no trace."""
    assert re.search(rf"\b{name}\b", (ROOT / "docs" / "audit.md").read_text())
    comment = (ROOT / "protos" / "footnote" / "edge" / "v1" / "audit.proto").read_text()
    assert f'"{AUDITED[name].kind}/' in comment


def _has(message: Any, path: str) -> bool:
    for part in path.split("."):
        if message is None or part not in message.fields_by_name:
            return False
        message = message.fields_by_name[part].message_type
    return True


def test_a_shared_answer_and_its_share_are_named_with_the_conversation() -> None:
    of = "c1"
    declared, ended = AUDITED["ShareConversation"], AUDITED["UnshareConversation"]
    whole = conversations_pb2.ShareConversationRequest(conversation_id=of)
    one = conversations_pb2.ShareConversationRequest(conversation_id=of, answer_id="a1")
    made = conversations_pb2.ShareConversationResponse(shared=conversations_pb2.SharedConversation(share_id="s1"))
    assert resources.resource(declared, whole, made) == "conversations/c1/shares/s1"
    assert resources.resource(declared, one, made) == "conversations/c1/answers/a1/shares/s1"
    assert resources.resource(declared, one, None) == "conversations/c1/answers/a1"
    one.answer_id = "what is the plan?"
    assert resources.resource(declared, one, None) == "conversations/c1"
    unshared = conversations_pb2.UnshareConversationRequest(conversation_id=of, answer_id="a1")
    assert resources.resource(ended, unshared, conversations_pb2.UnshareConversationResponse()).endswith("/answers/a1")


@pytest.mark.parametrize(
    ("name", "request_", "wanted"),
    [
        ("DeleteDocument", documents_pb2.DeleteDocumentRequest(document_id="a1-b2"), "documents/a1-b2"),
        ("DeleteDocument", documents_pb2.DeleteDocumentRequest(document_id="what is\nthe plan?"), ""),
        ("DeleteDocument", documents_pb2.DeleteDocumentRequest(document_id="a" * 65), ""),
        ("DeleteDocument", documents_pb2.DeleteDocumentRequest(document_id="fn_0123_secret"), ""),
        (
            "DeleteCollection",
            collections_pb2.DeleteCollectionRequest(collection="Plans 2026"),
            "collections/Plans 2026",
        ),
        ("DeleteCollection", collections_pb2.DeleteCollectionRequest(collection="fn_0123_secret"), ""),
        ("DeleteCollection", collections_pb2.DeleteCollectionRequest(collection="a\u202eb"), ""),
        ("RevokeKey", keys_pb2.RevokeKeyRequest(key_id="0123456789abcdef"), "keys/0123456789abcdef"),
        ("RevokeKey", keys_pb2.RevokeKeyRequest(key_id="fn_0123456789abcdef_secret"), ""),
        ("CheckProvider", providers_pb2.CheckProviderRequest(id="openai"), "providers/openai"),
        ("CheckProvider", providers_pb2.CheckProviderRequest(id="sk-ABCDEF0123456789"), ""),
        ("DeleteAnswer", answers_pb2.DeleteAnswerRequest(), ""),
        ("UpdateTenantLimits", limits_pb2.UpdateTenantLimitsRequest(tenant_id="acme"), "limits/acme"),
    ],
)
def test_a_resource_is_an_id_or_nothing(name: str, request_: Any, wanted: str) -> None:
    assert resources.resource(AUDITED[name], request_, None) == wanted


def test_changed_fields_are_names_of_the_contract() -> None:
    request = collections_pb2.UpdateCollectionRequest(collection="x")
    request.resource.metadata["secret key"] = "secret value"
    request.resource.grants.add(user_id="bob")
    request.resource.settings.generation.provider = "openai"
    request.resource.etag = "1"
    declared = AUDITED["UpdateCollection"]
    wanted = ("grants", "metadata", "settings.generation.provider")
    assert resources.changed_fields(declared, request) == wanted
    assert resources.providers(declared, request) == ("settings.generation.provider=openai",)
    request.update_mask.paths.extend(
        ["description", "settings.generation.model", "what is this?", "metadata.secret key"]
    )
    assert resources.changed_fields(declared, request) == ("description", "settings.generation.model")

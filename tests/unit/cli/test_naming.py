"""What people may write where an id is wanted."""

from collections.abc import Callable
from typing import Any

import pytest
from footnote.edge.v1.conversations_pb2 import Conversation, ListConversationsResponse
from footnote.edge.v1.documents_pb2 import ListDocumentsResponse
from support.doubles.scripted_edge import ScriptedEdge, document
from typer.testing import Result

Footnote = Callable[..., Result]


class Named(ScriptedEdge):
    """Lists what a test gives it."""

    def __init__(self) -> None:
        super().__init__()
        self.documents = [document("handbook.pdf"), document("stock.xlsx")]
        self.conversations = [Conversation(id="k7"), Conversation(id="k6")]

    async def ListDocuments(self, request: Any, context: Any) -> ListDocumentsResponse:
        self.requests.append(request)
        return ListDocumentsResponse(documents=self.documents)

    async def ListConversations(self, request: Any, context: Any) -> ListConversationsResponse:
        return ListConversationsResponse(conversations=self.conversations)


@pytest.fixture
def edge() -> ScriptedEdge:
    """Edge's double with things that have names."""
    return Named()


def sent(edge: ScriptedEdge, name: str) -> Any:
    return next(request for request in edge.requests if type(request).__name__ == name)


def test_a_document_is_found_by_its_files_name(footnote: Footnote, edge: ScriptedEdge) -> None:
    footnote("documents", "delete", "handbook.pdf", "--yes")
    assert sent(edge, "ListDocumentsRequest").filename_contains == "handbook.pdf"
    assert sent(edge, "DeleteDocumentRequest").document_id == document("handbook.pdf").id


def test_so_is_one_whose_files_name_has_no_dot(footnote: Footnote, edge: Named) -> None:
    edge.documents = [document("LICENSE", id="first"), document("LICENSES", id="second")]
    footnote("documents", "delete", "LICENSE", "--yes")
    assert sent(edge, "DeleteDocumentRequest").document_id == "first"


def test_an_id_is_not_looked_for(footnote: Footnote, edge: ScriptedEdge) -> None:
    footnote("documents", "delete", "0123456789abcdef" * 2, "--yes")
    assert [type(request).__name__ for request in edge.requests] == ["DeleteDocumentRequest"]


@pytest.mark.parametrize("name", ["book.pdf", "HANDBOOK.pdf", "other.md"])
def test_part_of_a_name_is_none(footnote: Footnote, edge: ScriptedEdge, name: str) -> None:
    footnote("documents", "delete", name, "--yes")
    assert sent(edge, "DeleteDocumentRequest").document_id == name


def test_a_name_of_two_documents_is_refused(footnote: Footnote, edge: Named) -> None:
    edge.documents = [document("a.txt", id="first"), document("a.txt", id="second")]
    result = footnote("documents", "delete", "a.txt", "--yes")
    assert result.exit_code == 2
    assert "2 documents are called a.txt" in result.stderr
    assert "first" in result.stderr
    assert "second" in result.stderr


def test_the_conversation_used_last(footnote: Footnote, edge: Named) -> None:
    footnote("ask", "And abroad?", "--conversation", "last")
    assert sent(edge, "AskRequest").conversation_id == "k7"
    edge.conversations = []
    result = footnote("conversations", "show", "last")
    assert result.exit_code == 1
    assert "--new-conversation" in result.stderr

"""A question that names two files is answered from both, however well the one matches and however little is taken."""

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest
from footnote.types.v1.collection_pb2 import Collection, PromptSettings, RerankSettings, RetrievalSettings
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow

QUESTION = "How high is the turnover in alpha_report.txt and in beta_report.txt?"


async def test_each_of_two_named_files_keeps_a_source(edge: EdgeClient) -> None:
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="reports")))
    rows = [f"The turnover of branch {number} is high, the turnover in {number} rose." for number in range(12)]
    alpha = await edge.put("\n\n".join(f"{row} " * 6 for row in rows).encode(), "alpha_report.txt", "reports")
    beta = await edge.put(
        ("Sales came to 7 million, as is told at length in the annex. " * 15).encode(), "beta_report.txt", "reports"
    )
    done = await edge.answer(
        QUESTION,
        collections=["reports"],
        retrieval=RetrievalSettings(limit=20),
        rerank=RerankSettings(provider="lexical"),
        prompt=PromptSettings(token_budget=150),
    )
    assert {one.document_id for one in done.sources} == {alpha.id, beta.id}, done.token_plan
    await edge.stub.DeleteCollection(DeleteCollectionRequest(collection="reports"))

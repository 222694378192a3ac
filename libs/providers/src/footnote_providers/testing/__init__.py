"""Conformance suites for providers, to be run in the pytest of whoever writes one.

Each suite is a tuple of checks; a check is an async function that raises AssertionError with what came back. They need
no network of their own: what a provider talks to, its author starts.

    from footnote_providers import testing

    @pytest.mark.parametrize("check", testing.EMBEDDER)
    async def test_it_conforms(check):
        await check(MyEmbeddings())
"""

from footnote_providers.testing.embedder import EMBEDDER
from footnote_providers.testing.model import MODEL, Question
from footnote_providers.testing.reranker import RERANKER
from footnote_providers.testing.verifier import VERIFIER

__all__ = ["EMBEDDER", "MODEL", "RERANKER", "VERIFIER", "Question"]

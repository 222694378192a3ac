"""Conformance suites for providers, to run in the pytest of a provider's package.

Each suite is a tuple of checks. A check is an async function that raises AssertionError with the provider's actual
result. The suites need no network of their own: the author starts the services behind a provider.

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

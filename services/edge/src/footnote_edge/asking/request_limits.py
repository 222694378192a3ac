"""Checks a question's prompt, reranker and model settings against the operator's limits."""

from collections.abc import Sequence

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import InvalidArgument
from footnote_providers.egress import limits
from footnote_providers.egress.egress import Egress


def check(egress: Egress, scope: Scope, request: AskRequest, collections: Sequence[str]) -> None:
    """Raise InvalidArgument with the range for a setting outside it; `collections` are the question's names and ids.

    Only the request's own settings are refused; those of a collection or the deployment are clamped to the limits.
    """
    allowed = egress.limits(scope, collections)
    limits.check_prompt(request.prompt, allowed)
    if len(request.instructions) > allowed.system_prompt:
        raise InvalidArgument.field("instructions", f"must have at most {allowed.system_prompt} characters")
    limits.check_rerank(request.rerank)
    limits.check_generation(request.generation, allowed)

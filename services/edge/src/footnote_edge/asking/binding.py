"""Selects the memory messages that the question's model may read."""

from footnote.retrieval.v1.retrieval_service_pb2 import SearchMemoryResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_providers.egress.bounds import together

from footnote_edge.asking.recall import without
from footnote_edge.asking.steps import Steps
from footnote_edge.asking.tools import Tools
from footnote_edge.conversations.origins import Origin

_KEPT_HERE = "Earlier conversations about collections that keep their texts on this machine were left out."
_REFUSED = "Earlier conversations whose collections do not allow this model were left out."


async def memory_for(
    tools: Tools, steps: Steps, scope: Scope, model: GenerationSettings, found: SearchMemoryResponse, bounds: TextBounds
) -> tuple[SearchMemoryResponse, TextBounds, set[Origin]]:
    """Return the memory that a model may read, the bounds of memory and question, and memory's origins.

    `bounds` are those of the question alone. Generation decides about each message as it does about the whole prompt.
    """
    if not found.source_messages:
        return found, bounds, set()
    if not bounds.local_only:
        kept = await tools.conversations.kept_here({one.conversation_id for one in found.source_messages})
        found = without(
            found, [one.message_id for one in found.source_messages if one.conversation_id in kept], _KEPT_HERE
        )
    origins = await tools.conversations.messages.origins.of(one.message_id for one in found.source_messages)
    refused = []
    for message_id, several in origins.items():
        both = together([bounds, await tools.bounds.about(scope, {one.collection_id for one in several})])
        if both == bounds or await steps.allows(model, both):
            bounds = both
        else:
            refused.append(message_id)
    for message_id in refused:
        del origins[message_id]
    return without(found, refused, _REFUSED), bounds, set().union(*origins.values())

"""Chat memory: what the user said before, as context; it never breaks the chat."""

import time

from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.types.v1.answer_pb2 import STAGE_RETRIEVAL, Degradation
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger

from footnote_edge.stages import Stages

CHARACTERS_PER_TOKEN = 4

_log = get_logger(__name__)


class Recall:
    """Searches a user's own messages and answers with an empty context when that does not work."""

    def __init__(self, stages: Stages) -> None:
        self._retrieval = stages.retrieval

    async def search(
        self,
        scope: Scope,
        query: str,
        *,
        conversation_id: str = "",
        enabled: bool = True,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        timeout: float,
    ) -> retrieval.SearchMemoryResponse:
        """Return matching messages of other conversations; `enabled` is false when switched off or not searchable.

        Raises InvalidArgument only: for options outside their ranges.
        """
        began = time.perf_counter()
        fields = {"user_id": scope.user_id, "conversation_id": conversation_id, "message_length": len(query)}
        if not enabled:
            _log.info("rag_disabled", **fields, rag_enabled=False)
            return retrieval.SearchMemoryResponse(enabled=False)
        request = retrieval.SearchMemoryRequest(
            scope=scope,
            query=query,
            enabled=enabled,
            max_messages=max_messages,
            max_tokens=max_tokens,
            exclude_conversation_id=conversation_id,
        )
        try:
            found: retrieval.SearchMemoryResponse = await self._retrieval.SearchMemory(request, timeout=timeout)
        except InvalidArgument:
            raise
        except FootnoteError as error:
            _log.error("rag_search_failed", **fields, rag_enabled=False, error=error.reason, **_figures(began))
            return retrieval.SearchMemoryResponse(
                enabled=False,
                degradations=[
                    Degradation(
                        stage=STAGE_RETRIEVAL,
                        reason="MEMORY_UNAVAILABLE",
                        effect="Answered without earlier conversations.",
                        detail=error.message,
                    )
                ],
            )
        _log.info(
            "rag_context_built",
            **fields,
            rag_enabled=found.enabled,
            similar_messages_found=len(found.source_messages),
            context_length=len(found.context),
            context_tokens=len(found.context) // CHARACTERS_PER_TOKEN,
            **_figures(began),
        )
        return found


def _figures(began: float) -> dict[str, int]:
    return {"execution_time_ms": round((time.perf_counter() - began) * 1000)}

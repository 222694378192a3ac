"""The manifest of an answer, filled in step by step: enough to reproduce it."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse, PlanQueryResponse
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.generation.v1.generation_service_pb2 import GenerateCompleted
from footnote.retrieval.v1.retrieval_service_pb2 import RetrieveResponse, SearchMemoryResponse
from footnote.types.v1.answer_pb2 import AnswerManifest, ManifestSource, Source
from footnote.types.v1.collection_pb2 import GenerationSettings, PromptSettings, RerankSettings

from footnote_edge.asking.thread import EarlierMessages
from footnote_edge.conversations.origins import Origin, shown


class ManifestBuilder:
    """The manifest of one answer in progress."""

    def __init__(self, request: AskRequest, question: str) -> None:
        self._own_prompt = request.prompt
        self.manifest = AnswerManifest(
            question=question,
            collections=request.collections,
            filter=request.filter if request.HasField("filter") else None,
            document_ids=request.document_ids,
            retrieval=request.retrieval,
            query_vector=request.query_vector,
            instructions=request.instructions,
        )

    def conversation(self, collections: Sequence[str]) -> None:
        """Note the conversation's collections where the request named none."""
        if not self.manifest.collections:
            self.manifest.collections.extend(collections)

    def history(self, past: EarlierMessages) -> None:
        """Note the history: stored messages by id, others as the caller gave them."""
        self.manifest.history_message_ids.extend(past.ids)
        if not past.ids:
            self.manifest.history.extend(past.messages)

    def searched(self, found: RetrieveResponse) -> None:
        """Note the collections and the settings of the last search that worked."""
        self.manifest.ClearField("collection_ids")
        self.manifest.collection_ids.extend(found.collection_ids)
        if found.HasField("settings"):
            self.manifest.retrieval.CopyFrom(found.settings)

    def planned(self, plan: PlanQueryResponse, full_question: str) -> None:
        """Note the search queries, and the answered question where it differs from the original."""
        self.manifest.full_question = full_question
        self.manifest.query = plan.query
        self.manifest.table_words.extend(plan.table_words)
        self.manifest.query_strategy, self.manifest.query_rewriting = plan.strategy, plan.rewriting

    def remembered(self, found: SearchMemoryResponse) -> None:
        """Note the ids of memory's messages: a deletion there must not leave a copy here."""
        self.manifest.memory_message_ids.extend(one.message_id for one in found.source_messages)

    def settings(self, prompt: PromptSettings, rerank: RerankSettings, generation: GenerationSettings) -> None:
        """Note the settings of the stages."""
        self.manifest.prompt.CopyFrom(prompt)
        self.manifest.rerank.CopyFrom(rerank)
        self.manifest.generation.CopyFrom(generation)

    def finish(
        self, built: BuildPromptResponse, completed: GenerateCompleted, origins: Iterable[Origin], *, local_only: bool
    ) -> AnswerManifest:
        """Note the outcome and the stages' effective settings, and return the manifest."""
        made, answer = self.manifest, completed.answer
        if built.HasField("prompt_settings"):
            made.prompt.CopyFrom(built.prompt_settings)
        if not made.collection_ids and made.prompt.system_prompt != self._own_prompt.system_prompt:
            # Those of collections that were not searched: nothing would take it out when one is deleted or unshared.
            made.prompt.ClearField("system_prompt")
            made.prompt.MergeFrom(PromptSettings(system_prompt=self._own_prompt.system_prompt or None))
        if built.HasField("rerank_settings"):
            made.rerank.CopyFrom(built.rerank_settings)
        if completed.HasField("settings"):
            made.generation.CopyFrom(completed.settings)
        made.provider, made.model = answer.provider, answer.model
        made.prompt_hash, made.template_version = built.prompt.hash, built.prompt.template_version
        made.sources.extend(_source(source) for source in built.sources)
        made.origins.extend(shown(origins))
        made.local_only = local_only
        made.withheld_text = completed.withheld_text
        made.table_query = answer.computation.query
        made.create_time.FromDatetime(datetime.now(UTC))
        return made


def _source(source: Source) -> ManifestSource:
    return ManifestSource(
        number=source.number,
        chunk_id=source.chunk_id,
        document_id=source.document_id,
        revision=source.revision,
        text_hash=hashlib.sha256(source.text.encode()).hexdigest(),
        score=source.score,
        collection_id=source.collection_id,
    )

"""Checking a collection's settings and filling in their defaults."""

import re

from footnote.types.v1 import collection_pb2
from footnote_kit.errors import InvalidArgument

# BM25 alone, nDCG@10 without and with the title before each passage: Cranfield 0.3823 and 0.3817 (its abstracts begin
# with their titles), SQuAD-13 0.8863 and 0.8955, PIAF 0.7960 and 0.8089.
CONTEXTUAL_HEADER_DEFAULT = True
_NAME = re.compile(r"[^\W_][\w\-. ]{0,127}")


def check_name(name: str) -> None:
    """Raise InvalidArgument unless this may be a collection's name."""
    if not name:
        raise InvalidArgument.field("collection.name", "is required")
    if not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidArgument.field(
            "collection.name",
            'must be 1 to 128 letters, digits, "-", "_", "." or spaces, and begin with a letter or digit',
        )


class _Problems:
    """Collects what is wrong, so that all of it is said at once."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def within(self, field: str, value: float, low: float, high: float) -> None:
        """Note a value out of its range, not-a-number included."""
        if not low <= value <= high:
            self.found.append((f"collection.settings.{field}", f"must be between {low:g} and {high:g}"))

    def known(self, field: str, value: int, known: object) -> None:
        """Note an enum value that this version does not know."""
        if value not in known.values():  # type: ignore[attr-defined]
            self.found.append((f"collection.settings.{field}", f"has no value {value}"))

    def raise_any(self) -> None:
        """Raise InvalidArgument with everything noted."""
        if self.found:
            sentence = "; ".join(f"{field} {problem}" for field, problem in self.found)
            raise InvalidArgument(sentence, violations=self.found)


def complete(settings: collection_pb2.CollectionSettings) -> collection_pb2.CollectionSettings:
    """Return the settings with every default filled in but the embedding's; InvalidArgument lists all problems."""
    full = collection_pb2.CollectionSettings()
    full.CopyFrom(settings)
    problems = _Problems()
    _chunking(full.chunking, problems)
    _retrieval(full.retrieval, problems)
    _prompt(full.prompt, problems)
    _generation(full.generation)
    problems.within("max_documents", full.max_documents, 0, 10_000_000)
    if full.HasField("ttl"):
        problems.within("ttl", full.ttl.seconds + full.ttl.nanos / 1e9, 0.001, 3153600000)
    problems.raise_any()
    return full


def _chunking(chunking: collection_pb2.ChunkingSettings, problems: _Problems) -> None:
    problems.known("chunking.strategy", chunking.strategy, collection_pb2.ChunkingStrategy)
    problems.known("chunking.unit", chunking.unit, collection_pb2.SizeUnit)
    chunking.strategy = chunking.strategy or collection_pb2.CHUNKING_STRATEGY_AUTO
    chunking.unit = chunking.unit or collection_pb2.SIZE_UNIT_CHARACTERS
    chunking.size = chunking.size or 1000
    chunking.parent_size = chunking.parent_size or 2000
    chunking.child_size = chunking.child_size or 500
    chunking.breakpoint_percentile = chunking.breakpoint_percentile or 95
    if not chunking.HasField("overlap_percent"):
        chunking.overlap_percent = 20
    if not chunking.HasField("contextual_header"):
        chunking.contextual_header = CONTEXTUAL_HEADER_DEFAULT
    for name in ("size", "parent_size", "child_size"):
        problems.within(f"chunking.{name}", getattr(chunking, name), 100, 8000)
    problems.within("chunking.overlap_percent", chunking.overlap_percent, 0, 50)
    problems.within("chunking.breakpoint_percentile", chunking.breakpoint_percentile, 1, 99)
    if chunking.parent_child and chunking.child_size > chunking.parent_size:
        problems.found.append(("collection.settings.chunking.child_size", "must not exceed parent_size"))


def _retrieval(retrieval: collection_pb2.RetrievalSettings, problems: _Problems) -> None:
    problems.known("retrieval.strategy", retrieval.strategy, collection_pb2.SearchStrategy)
    problems.known("retrieval.fusion", retrieval.fusion, collection_pb2.FusionMethod)
    retrieval.strategy = retrieval.strategy or collection_pb2.SEARCH_STRATEGY_AUTO
    retrieval.fusion = retrieval.fusion or collection_pb2.FUSION_METHOD_WEIGHTED
    retrieval.limit = retrieval.limit or 5
    problems.within("retrieval.limit", retrieval.limit, 1, 100)
    problems.within("retrieval.dense_weight", retrieval.dense_weight, 0, 1)
    problems.within("retrieval.min_score", retrieval.min_score, 0, 1)
    problems.within("retrieval.neighbors", retrieval.neighbors, 0, 5)
    problems.within("retrieval.recency_weight", retrieval.recency_weight, 0, 1)
    if not retrieval.HasField("recency_half_life"):
        retrieval.recency_half_life.seconds = 30 * 86400
    problems.within("retrieval.recency_half_life", retrieval.recency_half_life.seconds, 1, 315576000000)


def _prompt(prompt: collection_pb2.PromptSettings, problems: _Problems) -> None:
    prompt.token_budget = prompt.token_budget or 3000
    if not prompt.HasField("history_messages"):
        prompt.history_messages = 8
    if not prompt.HasField("history_characters"):
        prompt.history_characters = 4000
    if prompt.locale not in ("", "en", "fr"):
        problems.found.append(("collection.settings.prompt.locale", 'must be "en", "fr" or empty'))
    problems.within("prompt.history_messages", prompt.history_messages, 0, 1000)
    problems.within("prompt.history_characters", prompt.history_characters, 0, 1_000_000)


def _generation(generation: collection_pb2.GenerationSettings) -> None:
    # Their ranges are the operator's: see permitted.py.
    generation.max_tokens = generation.max_tokens or 1024
    if not generation.HasField("temperature"):
        generation.temperature = 0.1

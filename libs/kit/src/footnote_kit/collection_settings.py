"""Collection settings: the one table of them, and the one way to resolve them for a question or document.

The contract holds the ranges, as bounds on the fields. This table holds the built-in defaults, the deployment's
variables, and the exceptions to the merge rule. The rule: a present value replaces, an absent one inherits, and
messages of settings merge field by field. Lists, Struct and Duration are values. The order is request, collection,
deployment, built in.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from footnote.types.v1 import collection_pb2 as pb
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)

_FILE = pb.CollectionSettings.DESCRIPTOR.file
_VALUES = (pb.StringList.DESCRIPTOR.full_name,)
"""The contract's messages that are values, not groups of settings."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its path in CollectionSettings, and what the contract's field does not describe."""

    path: str
    built_in: Any = None
    """The default: an enum's number, the seconds of a Duration, a list; None for no default."""
    variable: str = ""
    """The deployment's environment variable; "" when a deployment cannot set a default."""
    unit: float = 1
    """For a Duration: the seconds that 1 in the variable represents."""
    of_provider: bool = False
    """The setting belongs to the group's `provider`: another provider does not inherit it."""
    strictest: bool = False
    """With several collections, the setting is on when it is on in any of them."""
    by_request: bool = True
    """A request may override it."""
    zero_is_unset: bool = False
    """0 in the variable means that the deployment sets no default."""

    @property
    def group(self) -> str:
        """The name of the group that contains it; "" for CollectionSettings itself."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The field's name."""
        return self.path.rpartition(".")[2]


def _stored(path: str, built_in: Any = None, variable: str = "", **more: Any) -> Setting:
    return Setting(path, built_in, variable, by_request=False, **more)


SETTINGS: tuple[Setting, ...] = (
    _stored("embedding.provider", "builtin", "FOOTNOTE_EMBEDDING_PROVIDER"),
    _stored("embedding.model", None, "FOOTNOTE_EMBEDDING_MODEL", of_provider=True),
    _stored("embedding.dimensions", None, "FOOTNOTE_EMBEDDING_DIMENSIONS", of_provider=True),
    _stored("embedding.settings", of_provider=True),
    _stored("chunking.strategy", pb.CHUNKING_STRATEGY_AUTO, "FOOTNOTE_INDEXING_CHUNKING_STRATEGY"),
    _stored("chunking.chunker", "", "FOOTNOTE_INDEXING_CHUNKING_CHUNKER"),
    _stored("chunking.unit", pb.SIZE_UNIT_CHARACTERS, "FOOTNOTE_INDEXING_CHUNKING_UNIT"),
    _stored("chunking.size", 1000, "FOOTNOTE_INDEXING_CHUNKING_SIZE"),
    _stored("chunking.overlap_percent", 20, "FOOTNOTE_INDEXING_CHUNKING_OVERLAP_PERCENT"),
    _stored("chunking.parent_child", False, "FOOTNOTE_INDEXING_CHUNKING_PARENT_CHILD"),
    _stored("chunking.parent_size", 2000, "FOOTNOTE_INDEXING_CHUNKING_PARENT_SIZE"),
    _stored("chunking.child_size", 500, "FOOTNOTE_INDEXING_CHUNKING_CHILD_SIZE"),
    _stored("chunking.breakpoint_percentile", 95, "FOOTNOTE_INDEXING_CHUNKING_BREAKPOINT_PERCENTILE"),
    # BM25 alone, nDCG@10 without and with the title before each passage: Cranfield 0.3823 and 0.3817 (its abstracts
    # begin with their titles), SQuAD-13 0.8863 and 0.8955, PIAF 0.7960 and 0.8089.
    _stored("chunking.contextual_header", True, "FOOTNOTE_INDEXING_CHUNKING_CONTEXTUAL_HEADER"),
    Setting("retrieval.strategy", pb.SEARCH_STRATEGY_AUTO, "FOOTNOTE_RETRIEVAL_STRATEGY"),
    Setting("retrieval.limit", 5, "FOOTNOTE_RETRIEVAL_LIMIT"),
    Setting("retrieval.dense_weight", None, "FOOTNOTE_RETRIEVAL_DENSE_WEIGHT"),
    Setting("retrieval.fusion", pb.FUSION_METHOD_WEIGHTED, "FOOTNOTE_RETRIEVAL_FUSION"),
    Setting("retrieval.min_score", None, "FOOTNOTE_RETRIEVAL_MIN_SCORE"),
    Setting("retrieval.neighbors", 0, "FOOTNOTE_RETRIEVAL_NEIGHBORS"),
    Setting("retrieval.resolve_parents", False, "FOOTNOTE_RETRIEVAL_RESOLVE_PARENTS"),
    Setting("retrieval.recency_weight", 0.02, "FOOTNOTE_RETRIEVAL_RECENCY_WEIGHT"),
    Setting("retrieval.recency_half_life", 30 * 86400, "FOOTNOTE_RETRIEVAL_RECENCY_HALF_LIFE_DAYS", unit=86400),
    Setting("rerank.provider", "none", "FOOTNOTE_AUGMENTATION_RERANKER"),
    Setting("rerank.model", "", "FOOTNOTE_AUGMENTATION_RERANK_MODEL", of_provider=True),
    Setting("rerank.top", 0, "FOOTNOTE_AUGMENTATION_RERANK_TOP"),
    Setting("rerank.settings", None, "FOOTNOTE_AUGMENTATION_RERANK_SETTINGS", of_provider=True),
    Setting("prompt.system_prompt", "", "FOOTNOTE_AUGMENTATION_SYSTEM_PROMPT"),
    Setting("prompt.locale", "", "FOOTNOTE_AUGMENTATION_LOCALE"),
    Setting("prompt.token_budget", 3000, "FOOTNOTE_AUGMENTATION_TOKEN_BUDGET"),
    Setting("prompt.history_messages", 8, "FOOTNOTE_AUGMENTATION_HISTORY_MESSAGES"),
    Setting("prompt.history_characters", 4000, "FOOTNOTE_AUGMENTATION_HISTORY_CHARACTERS"),
    Setting("generation.provider", "builtin", "FOOTNOTE_GENERATION_PROVIDER"),
    Setting("generation.model", "", "FOOTNOTE_GENERATION_MODEL", of_provider=True),
    Setting("generation.temperature", 0.1, "FOOTNOTE_GENERATION_TEMPERATURE"),
    Setting("generation.max_tokens", 1024, "FOOTNOTE_GENERATION_MAX_TOKENS"),
    Setting("generation.seed", None, "FOOTNOTE_GENERATION_SEED"),
    Setting("generation.strict", False, "FOOTNOTE_GENERATION_STRICT", strictest=True),
    Setting("generation.settings", of_provider=True),
    Setting("generation.second_opinion", True, "FOOTNOTE_GENERATION_SECOND_OPINION"),
    Setting("generation.stop", [], "FOOTNOTE_GENERATION_STOP"),
    Setting("generation.top_p", None, "FOOTNOTE_GENERATION_TOP_P"),
    Setting("generation.frequency_penalty", None, "FOOTNOTE_GENERATION_FREQUENCY_PENALTY"),
    Setting("generation.presence_penalty", None, "FOOTNOTE_GENERATION_PRESENCE_PENALTY"),
    _stored("ttl", None, "FOOTNOTE_TTL_DAYS", unit=86400),
    _stored("max_documents", None, "FOOTNOTE_INGESTION_MAX_DOCUMENTS", zero_is_unset=True),
    _stored("local_only", False, "FOOTNOTE_LOCAL_ONLY", strictest=True),
    _stored("ocr_pictures", False, "FOOTNOTE_INGESTION_OCR_PICTURES"),
)

GROUPS: dict[str, type[Message]] = {
    "embedding": pb.EmbeddingSettings,
    "chunking": pb.ChunkingSettings,
    "retrieval": pb.RetrievalSettings,
    "rerank": pb.RerankSettings,
    "prompt": pb.PromptSettings,
    "generation": pb.GenerationSettings,
}


def is_group(field: FieldDescriptor) -> bool:
    """Return whether a field holds a group of settings rather than a value."""
    kind = field.message_type
    return kind is not None and kind.file == _FILE and kind.full_name not in _VALUES and not field.is_repeated


def paths(settings: type[Message] = pb.CollectionSettings, prefix: str = "") -> Iterator[str]:
    """Yield the path of every setting in the contract."""
    for field in _fields(settings):
        if is_group(field):
            yield from paths(GROUPS[field.name], f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def put(settings: Message, name: str, value: Any) -> None:
    """Set a field from the table's form: seconds of a Duration, a list of a StringList, a dict of a Struct."""
    field = settings.DESCRIPTOR.fields_by_name[name]
    if field.message_type is None:
        setattr(settings, name, value)
    elif field.message_type.name == "Duration":
        getattr(settings, name).FromNanoseconds(round(value * 1e9))
        getattr(settings, name).SetInParent()
    else:
        held = getattr(settings, name)
        held.SetInParent()
        if field.message_type.name == "StringList":
            held.values.extend(value)
        else:
            held.update(value)


@cache
def built_in() -> pb.CollectionSettings:
    """Return the built-in defaults."""
    settings = pb.CollectionSettings()
    for one in SETTINGS:
        if one.built_in is not None:
            put(getattr(settings, one.group) if one.group else settings, one.name, one.built_in)
    return settings


def overlay(near: M, far: M) -> M:
    """Return a copy of `near` that takes absent values from `far`.

    Settings of a provider are not taken from settings that name or imply another provider.
    """
    result = type(near)()
    result.CopyFrom(near)
    given = {field.name for field, _ in near.ListFields()}
    left = _of_provider(near.DESCRIPTOR) if _another_provider(near, far) else frozenset()
    for field, value in far.ListFields():
        if is_group(field):
            getattr(result, field.name).CopyFrom(overlay(getattr(near, field.name), value))
        elif field.name not in given and field.name not in left:
            _copy(field, value, result)
    return result


def resolve(deployment: M, *given: M) -> M:
    """Return the effective settings, of a group or of all: `given` with the nearest first, then the deployment's.

    `footnote_kit.deployment_settings` reads the deployment's. The built-in defaults fill the rest.
    """
    result = type(deployment)()
    for layer in given:
        result = overlay(result, layer)
    _mean_the_deployments(result)
    result = overlay(result, deployment)
    return overlay(result, _built_in_of(deployment))


def shared(several: Sequence[M]) -> M:
    """Return common settings of several collections: the values that all of them share, and the strictest.

    Raises ValueError when there are no collections.
    """
    if not several:
        raise ValueError("There is nothing to share")
    first = several[0]
    result = type(first)()
    if len(several) == 1:
        result.CopyFrom(first)
        return result
    bound = {*_of_provider(first.DESCRIPTOR), "provider"} if _of_provider(first.DESCRIPTOR) else set()
    fields = _fields(first)
    apart = {field.name for field in fields if not _alike(several, field)}
    if apart & bound:
        apart |= bound
    for field in fields:
        if is_group(field):
            if any(one.HasField(field.name) for one in several):
                getattr(result, field.name).CopyFrom(shared([getattr(one, field.name) for one in several]))
        elif field.name in _strictest(first.DESCRIPTOR) and any(getattr(one, field.name) for one in several):
            setattr(result, field.name, True)
        elif field.name not in apart and _is_given(first, field):
            _copy(field, getattr(first, field.name), result)
    return result


def _alike(several: Sequence[Message], field: FieldDescriptor) -> bool:
    first = several[0]
    return all(
        _is_given(one, field) == _is_given(first, field) and getattr(one, field.name) == getattr(first, field.name)
        for one in several[1:]
    )


def _fields(settings: Message | type[Message]) -> list[FieldDescriptor]:
    return cast(list[FieldDescriptor], list(settings.DESCRIPTOR.fields))


def _is_given(settings: Message, field: FieldDescriptor) -> bool:
    return settings.HasField(field.name) if field.has_presence else bool(getattr(settings, field.name))


def _another_provider(near: Message, far: Message) -> bool:
    """Return whether `near` names a provider other than that of `far`."""
    provider = [field for field in _fields(near) if field.name == "provider"]
    if not provider or not _is_given(near, provider[0]):
        return False
    return bool(near.provider != far.provider)  # type: ignore[attr-defined]


def _mean_the_deployments(settings: Message) -> None:
    """Clear a model provider that is set to "": the deployment then decides. For a reranker, "" means none."""
    for one in (settings, settings.generation) if isinstance(settings, pb.CollectionSettings) else (settings,):
        if isinstance(one, pb.GenerationSettings) and not one.provider:
            one.ClearField("provider")


def _built_in_of(settings: M) -> M:
    whole = built_in()
    if isinstance(settings, pb.CollectionSettings):
        return whole  # type: ignore[return-value]
    name = next(name for name, kind in GROUPS.items() if isinstance(settings, kind))
    found: M = getattr(whole, name)
    return found


@cache
def _of_provider(descriptor: Descriptor) -> frozenset[str]:
    return frozenset(one.name for one in _declared(descriptor) if one.of_provider)


@cache
def _strictest(descriptor: Descriptor) -> frozenset[str]:
    return frozenset(one.name for one in _declared(descriptor) if one.strictest)


def _declared(descriptor: Descriptor) -> list[Setting]:
    groups = {kind.DESCRIPTOR.full_name: name for name, kind in GROUPS.items()}
    return [one for one in SETTINGS if one.group == groups.get(descriptor.full_name, "")]


def _copy(field: FieldDescriptor, value: Any, target: Message) -> None:
    if field.message_type is not None:
        getattr(target, field.name).CopyFrom(value)
    else:
        setattr(target, field.name, value)

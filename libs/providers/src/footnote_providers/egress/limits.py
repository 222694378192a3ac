"""The allowed ranges of provider settings in requests and collections; every refusal states the range."""

from footnote.types.v1.collection_pb2 import GenerationSettings, PromptSettings, RerankSettings
from footnote_kit.errors import InvalidArgument
from google.protobuf.struct_pb2 import Struct

from footnote_providers.egress.policy import Limits

_RAISED = "which the operator alone can raise: limits.{name} in the provider policy"
MOST_STOPS, LONGEST_STOP = 16, 200
MOST_SETTINGS_BYTES = 16 * 1024
LONGEST_PROVIDER, LONGEST_MODEL = 100, 300


def _over(field: str, name: str, problem: str) -> InvalidArgument:
    return InvalidArgument.field(f"{field}.{name}", f"{problem}, {_RAISED.format(name=name)}")


def check_prompt(prompt: PromptSettings, limits: Limits, field: str = "prompt") -> None:
    """Raise InvalidArgument with the range for a prompt setting outside it."""
    if len(prompt.system_prompt) > limits.system_prompt:
        raise _over(field, "system_prompt", f"must have at most {limits.system_prompt} characters")
    if prompt.HasField("token_budget") and not 100 <= prompt.token_budget <= limits.token_budget:
        raise _over(field, "token_budget", f"must be from 100 to {limits.token_budget}")


def check_generation(generation: GenerationSettings, limits: Limits, field: str = "generation") -> None:
    """Raise InvalidArgument with the range for a model setting outside it."""
    if generation.HasField("max_tokens") and not 1 <= generation.max_tokens <= limits.max_tokens:
        raise _over(field, "max_tokens", f"must be from 1 to {limits.max_tokens}")
    if generation.HasField("temperature") and not 0 <= generation.temperature <= limits.temperature:
        raise _over(field, "temperature", f"must be from 0 to {limits.temperature:g}")
    if not 0 <= generation.top_p <= 1:
        raise InvalidArgument.field(f"{field}.top_p", "must be from 0 to 1")
    if not -2 <= generation.frequency_penalty <= 2:
        raise InvalidArgument.field(f"{field}.frequency_penalty", "must be from -2 to 2")
    if not -2 <= generation.presence_penalty <= 2:
        raise InvalidArgument.field(f"{field}.presence_penalty", "must be from -2 to 2")
    if len(generation.stop.values) > MOST_STOPS:
        raise InvalidArgument.field(f"{field}.stop", f"must be at most {MOST_STOPS} texts")
    if any(len(text) > LONGEST_STOP for text in generation.stop.values):
        raise InvalidArgument.field(f"{field}.stop", f"must be texts of at most {LONGEST_STOP} characters")
    check_provider(generation.provider, generation.model, generation.settings, field)


def check_rerank(rerank: RerankSettings, field: str = "rerank") -> None:
    """Raise InvalidArgument with the range for a reranker setting outside it."""
    if not 0 <= rerank.top <= 1000:
        raise InvalidArgument.field(f"{field}.top", "must be from 0 to 1000")
    check_provider(rerank.provider, rerank.model, rerank.settings, field)


def check_provider(provider: str, model: str, settings: Struct, field: str) -> None:
    """Raise InvalidArgument for a name that is too long, or settings that are too large."""
    if len(provider) > LONGEST_PROVIDER:
        raise InvalidArgument.field(f"{field}.provider", f"must have at most {LONGEST_PROVIDER} characters")
    if len(model) > LONGEST_MODEL:
        raise InvalidArgument.field(f"{field}.model", f"must have at most {LONGEST_MODEL} characters")
    if settings.ByteSize() > MOST_SETTINGS_BYTES:
        raise InvalidArgument.field(f"{field}.settings", f"must be at most {MOST_SETTINGS_BYTES // 1024} KiB")

"""The embedding providers that are part of Footnote."""

from collections.abc import Mapping
from functools import cache

from footnote_kit.errors import InvalidArgument
from footnote_kit.registration import Kind, Registration, Wanted
from pydantic import BaseModel

from footnote_providers import builtin, onnx_local, openai_compatible, own_vectors
from footnote_providers.base import EmbeddingProvider
from footnote_providers.e5 import files as e5_files
from footnote_providers.e5 import provider as e5
from footnote_providers.egress.egress import Egress
from footnote_providers.endpoints import SERVICES, endpoint
from footnote_providers.onnx_files import find_files, invalid
from footnote_providers.resilience import EndpointLimiter, Policy
from footnote_providers.settings import DefaultSettings, E5Settings, OnnxSettings

_CAPABILITIES = ("embeddings",)
_MOST = 100

REMOTE: Mapping[str, str] = {
    "openai": "text-embedding-3-small",
    "ollama": "nomic-embed-text",
    "gemini": "gemini-embedding-001",
    "vllm": "",
    "tei": "tei",
}
"""Services that embed, each with its default model."""


def _builtin(wanted: Wanted[builtin.Settings]) -> EmbeddingProvider:
    if wanted.model != builtin.MODEL:
        raise InvalidArgument(f"builtin has one model, {builtin.MODEL!r}", reason="PROVIDER_INVALID")
    if wanted.dimensions and not 2 <= wanted.dimensions <= 4096:
        raise InvalidArgument("builtin makes vectors of 2 to 4096 dimensions", reason="PROVIDER_INVALID")
    return builtin.BuiltinEmbeddings(wanted.model, wanted.dimensions or builtin.DIMENSIONS)


def _onnx(wanted: Wanted[onnx_local.Settings]) -> EmbeddingProvider:
    deployment, defaults = OnnxSettings(), DefaultSettings()
    name = wanted.model or deployment.model
    own = name in (deployment.model, defaults.model if defaults.provider == "onnx" else None)
    checksum = "" if deployment.pinned(name) else Egress.load().checksum(name)
    files = find_files(name, deployment, own=own, checksum=checksum)
    try:
        return onnx_local.OnnxEmbeddings(files, name, wanted.settings, deployment.threads)
    except Exception as error:  # the libraries raise bare exceptions for a file that is no model
        raise invalid(f"onnx model {name!r} cannot be loaded: {type(error).__name__}") from error


def _e5(wanted: Wanted[e5.Settings]) -> EmbeddingProvider:
    if wanted.model != e5.MODEL:
        raise InvalidArgument(f"e5 has one model, {e5.MODEL!r}", reason="PROVIDER_INVALID")
    e5_files.require_installed()
    deployment = E5Settings()
    return e5.E5Embeddings(deployment.cache_dir, deployment.threads)


@cache
def _gate(name: str, policy: Policy) -> EndpointLimiter:
    """Return the limiter of an endpoint and policy."""
    return EndpointLimiter(name, policy)


def _remote(id: str, default_model: str) -> Registration[BaseModel, EmbeddingProvider]:
    def make(wanted: Wanted[openai_compatible.Settings]) -> EmbeddingProvider:
        here = endpoint(id)
        name = wanted.model or here.settings.embedding_model
        if not name:
            raise InvalidArgument(f"{id} needs the name of a model", reason="PROVIDER_INVALID")
        here.require("embedding")
        policy = Policy(
            attempts=here.settings.attempts,
            first_backoff=here.settings.first_backoff,
            requests_per_minute=here.settings.requests_per_minute,
        )
        gate = _gate(f"{here.service.display_name} at {here.base_url}", policy)
        return openai_compatible.OpenAICompatibleEmbeddings(here, gate, name, wanted.dimensions, wanted.settings)

    made = Registration(
        kind=Kind.EMBEDDING,
        id=id,
        display_name=SERVICES[id].display_name,
        settings=openai_compatible.Settings,
        make=make,
        default_model=default_model,
        capabilities=_CAPABILITIES,
        recommended_dense_weight=(
            openai_compatible.OpenAICompatibleEmbeddings.openai_dense_weight
            if default_model.startswith(openai_compatible.OPENAI_MODELS)
            else openai_compatible.OpenAICompatibleEmbeddings.recommended_dense_weight
        ),
        max_batch=SERVICES[id].max_batch,
        address=lambda: endpoint(id).base_url,
    )
    return made


def _own_vectors(wanted: Wanted[own_vectors.Settings]) -> EmbeddingProvider:
    return own_vectors.OwnVectors(wanted.model, wanted.dimensions)


_BUILTIN = Registration(
    kind=Kind.EMBEDDING,
    id="builtin",
    display_name="Built-in (hashed words, no model)",
    settings=builtin.Settings,
    make=_builtin,
    default_model=builtin.MODEL,
    capabilities=_CAPABILITIES,
    recommended_dense_weight=builtin.DENSE_WEIGHT,
    knows_cosines=True,
    max_batch=_MOST,
    local=True,
    builtin=True,
)
_E5 = Registration(
    kind=Kind.EMBEDDING,
    id="e5",
    display_name="multilingual-e5-small (meaning in about 100 languages)",
    settings=e5.Settings,
    make=_e5,
    default_model=e5.MODEL,
    capabilities=_CAPABILITIES,
    recommended_dense_weight=e5.DENSE_WEIGHT,
    knows_cosines=True,
    max_batch=e5.E5Embeddings.max_batch,
    slow=True,
    one_length=True,
    local=True,
)
_ONNX = Registration(
    kind=Kind.EMBEDDING,
    id="onnx",
    display_name="Local ONNX model",
    settings=onnx_local.Settings,
    make=_onnx,
    capabilities=_CAPABILITIES,
    recommended_dense_weight=onnx_local.OnnxEmbeddings.recommended_dense_weight,
    max_batch=_MOST,
    one_length=True,
    local=True,
)
_NONE = Registration(
    kind=Kind.EMBEDDING,
    id=own_vectors.PROVIDER,
    display_name="None (the collection brings its own vectors)",
    settings=own_vectors.Settings,
    make=_own_vectors,
    recommended_dense_weight=own_vectors.DENSE_WEIGHT,
    max_batch=1,
    local=True,
    builtin=True,
)
CATALOGUE = (_BUILTIN, _E5, _ONNX, *(_remote(id, model) for id, model in REMOTE.items()), _NONE)

"""The providers that come with Footnote."""

from functools import cache
from os import environ

from footnote_kit.errors import InvalidArgument
from footnote_kit.provider_calls import unconfigured
from pydantic import BaseModel
from pydantic_settings import SettingsConfigDict

from footnote_providers import builtin, onnx_local, openai_compatible, own_vectors
from footnote_providers.base import EmbeddingProvider
from footnote_providers.egress.egress import Egress
from footnote_providers.onnx_files import find_files, invalid
from footnote_providers.registration import Registration
from footnote_providers.resilience import Gate, Policy
from footnote_providers.settings import DefaultSettings, OnnxSettings, RemoteSettings


def _builtin(model: str, dimensions: int, settings: BaseModel) -> EmbeddingProvider:
    if model != builtin.MODEL:
        raise InvalidArgument(f"builtin has one model, {builtin.MODEL!r}", reason="PROVIDER_INVALID")
    if dimensions and not 2 <= dimensions <= 4096:
        raise InvalidArgument("builtin makes vectors of 2 to 4096 dimensions", reason="PROVIDER_INVALID")
    return builtin.BuiltinEmbeddings(model, dimensions or builtin.DIMENSIONS)


def _onnx(model: str, dimensions: int, settings: BaseModel) -> EmbeddingProvider:
    assert isinstance(settings, onnx_local.Settings)
    deployment, defaults = OnnxSettings(), DefaultSettings()
    name = model or deployment.model
    own = name in (deployment.model, defaults.model if defaults.provider == "onnx" else None)
    checksum = "" if deployment.pinned(name) else Egress.load().checksum(name)
    files = find_files(name, deployment, own=own, checksum=checksum)
    try:
        return onnx_local.OnnxEmbeddings(files, name, settings, deployment.threads)
    except Exception as error:  # the libraries raise bare ones for a file that is no model
        raise invalid(f"onnx model {name!r} cannot be loaded: {type(error).__name__}") from error


def remote_settings(provider: str, base_url: str) -> RemoteSettings:
    """Read `FOOTNOTE_<PROVIDER>_*`; openai also takes the SDK's own OPENAI_BASE_URL and OPENAI_API_KEY."""

    class Settings(RemoteSettings):
        model_config = SettingsConfigDict(env_prefix=f"FOOTNOTE_{provider.upper()}_")

    settings = Settings()
    if not settings.base_url:
        settings.base_url = (environ.get("OPENAI_BASE_URL") if provider == "openai" else None) or base_url
    if not settings.api_key.get_secret_value() and provider == "openai":
        settings.api_key = type(settings.api_key)(environ.get("OPENAI_API_KEY", ""))
    return settings


@cache
def _gate(name: str, policy: Policy) -> Gate:
    """One gate for each endpoint and way of calling it."""
    return Gate(name, policy)


def _remote(provider: str, display_name: str, base_url: str, default_model: str) -> Registration:
    def make(model: str, dimensions: int, settings: BaseModel) -> EmbeddingProvider:
        assert isinstance(settings, openai_compatible.Settings)
        deployment = remote_settings(provider, base_url)
        name = model or deployment.embedding_model
        if not name:
            raise InvalidArgument(f"{provider} needs the name of a model", reason="PROVIDER_INVALID")
        if (
            provider in ("openai", "gemini")
            and deployment.base_url == base_url
            and not deployment.api_key.get_secret_value()
        ):
            needs = f"FOOTNOTE_{provider.upper()}_API_KEY"
            raise unconfigured("embedding", provider, needs, f"{provider} needs a key: set {needs}")
        endpoint = openai_compatible.Endpoint(
            provider=provider,
            base_url=deployment.base_url,
            api_key=deployment.api_key.get_secret_value(),
            timeout=deployment.timeout,
            max_batch=deployment.max_batch,
            max_in_flight=deployment.max_in_flight,
        )
        policy = Policy(
            attempts=deployment.attempts,
            first_backoff=deployment.first_backoff,
            requests_per_minute=deployment.requests_per_minute,
        )
        gate = _gate(f"{display_name} at {deployment.base_url}", policy)
        return openai_compatible.OpenAICompatibleEmbeddings(endpoint, gate, name, dimensions, settings)

    return Registration(
        id=provider,
        display_name=display_name,
        settings=openai_compatible.Settings,
        make=make,
        default_model=default_model,
        address=lambda: remote_settings(provider, base_url).base_url,
        recommended_dense_weight=openai_compatible.OpenAICompatibleEmbeddings.recommended_dense_weight,
    )


CATALOGUE = (
    Registration(
        id="builtin",
        display_name="Built-in (hashed words, no model)",
        settings=builtin.Settings,
        make=_builtin,
        default_model=builtin.MODEL,
        recommended_dense_weight=builtin.DENSE_WEIGHT,
        local=True,
    ),
    Registration(
        id="onnx",
        display_name="Local ONNX model",
        settings=onnx_local.Settings,
        make=_onnx,
        recommended_dense_weight=onnx_local.OnnxEmbeddings.recommended_dense_weight,
        local=True,
    ),
    _remote("openai", "OpenAI", "https://api.openai.com/v1", "text-embedding-3-small"),
    _remote("ollama", "Ollama", "http://localhost:11434/v1", "nomic-embed-text"),
    _remote(
        "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini-embedding-001"
    ),
    _remote("vllm", "vLLM", "http://localhost:8000/v1", ""),
    _remote("tei", "Text Embeddings Inference", "http://localhost:8080/v1", "tei"),
    Registration(
        id=own_vectors.PROVIDER,
        display_name="None (the collection brings its own vectors)",
        settings=own_vectors.Settings,
        make=lambda model, dimensions, settings: own_vectors.OwnVectors(model, dimensions),
        recommended_dense_weight=own_vectors.DENSE_WEIGHT,
        max_batch=1,
        capabilities=(),
        local=True,
    ),
)

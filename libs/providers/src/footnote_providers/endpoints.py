"""The known OpenAI-compatible services, for embeddings and chat: default addresses and the deployment's settings.

Addresses and keys come from the environment only: `FOOTNOTE_<ID>_BASE_URL`, `FOOTNOTE_<ID>_API_KEY`, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from footnote_kit.errors import FailedPrecondition
from footnote_kit.redact import register
from footnote_kit.registration import unconfigured
from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import SettingsConfigDict

from footnote_providers.settings import RemoteSettings


@dataclass(frozen=True, slots=True)
class Service:
    """A service: its default address, whether that requires a key, and the vendor's variables.

    `own` are variables that the vendor's own tools read, without the prefix: "OPENAI_API_KEY".
    """

    id: str
    display_name: str
    base_url: str
    needs_key: bool = False
    own: tuple[str, ...] = ()
    max_batch: int = 100
    """Texts per embedding call, unless `FOOTNOTE_<ID>_MAX_BATCH` is set."""
    window: int = 0
    """The context window of its models in tokens, unless `FOOTNOTE_<ID>_WINDOW` is set; 0 for the model's own."""


SERVICES = {
    service.id: service
    for service in (
        Service(
            "openai", "OpenAI", "https://api.openai.com/v1", needs_key=True,
            own=("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"),
        ),
        # Ollama's default context window; it silently drops tokens beyond it.
        Service("ollama", "Ollama", "http://127.0.0.1:11434/v1", window=4096),
        Service(
            "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", needs_key=True,
            own=("GEMINI_API_KEY",),
        ),
        Service("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
        # It refuses batches above its --max-client-batch-size, by default 32.
        Service("tei", "Text Embeddings Inference", "http://127.0.0.1:8080/v1", max_batch=32),
        Service(
            "anthropic", "Anthropic", "https://api.anthropic.com/v1", needs_key=True, own=("ANTHROPIC_API_KEY",)
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service as this deployment reaches it; no text of this process shows the key."""

    service: Service
    base_url: str
    api_key: str = field(repr=False)
    settings: RemoteSettings = field(repr=False)

    @property
    def is_set(self) -> bool:
        """Whether this deployment sets an address or a key."""
        return bool(self.api_key) or self.base_url != self.service.base_url

    def require(self, kind: str) -> None:
        """Raise FailedPrecondition(PROVIDER_UNCONFIGURED) when the default address would refuse every call."""
        if self.service.needs_key and not self.api_key and self.base_url == self.service.base_url:
            needs = f"FOOTNOTE_{self.service.id.upper()}_API_KEY"
            raise unconfigured(kind, self.service.id, needs, f"The {kind} {self.service.id} needs a key: set {needs}")


def endpoint(id: str) -> Endpoint:
    """Return this deployment's endpoint of a service, from the current environment.

    Raises FailedPrecondition that names the variable with an invalid value.
    """
    service = SERVICES[id]
    try:
        settings = settings_of(id)()
    except ValidationError as error:
        problems = (f"{_variable(id, str(one['loc'][0]))}: {one['msg']}" for one in error.errors(include_input=False))
        raise FailedPrecondition("; ".join(problems)) from error
    key = settings.api_key.get_secret_value()
    register(key)
    return Endpoint(service, settings.base_url or service.base_url, key, settings)


@cache
def settings_of(id: str) -> type[RemoteSettings]:
    """Return the settings class of a service; an empty variable counts as unset."""
    service, prefix = SERVICES[id], f"FOOTNOTE_{id.upper()}_"

    def names(name: str) -> AliasChoices:
        return AliasChoices(prefix + name, *(one for one in service.own if one.endswith(f"_{name}")))

    class Settings(RemoteSettings):
        model_config = SettingsConfigDict(env_prefix=prefix, env_ignore_empty=True)

        base_url: str = Field(default="", validation_alias=names("BASE_URL"))
        api_key: SecretStr = Field(default=SecretStr(""), validation_alias=names("API_KEY"))
        model: str = Field(default="", validation_alias=names("MODEL"))
        max_batch: int = Field(default=service.max_batch, ge=1, le=2048)

    return Settings


def _variable(id: str, name: str) -> str:
    return name if name.isupper() else f"FOOTNOTE_{id}_{name}".upper()

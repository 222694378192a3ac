"""The deployment's provider settings: default provider, addresses, keys, limits."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

AUTO = "auto"
"""The default provider is e5 when its package is installed, else the built-in one; see `automatic`."""


class DefaultSettings(BaseSettings):
    """The embedding settings of collections that name none (`FOOTNOTE_EMBEDDING_*`)."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_EMBEDDING_")

    provider: str = AUTO
    model: str = ""
    dimensions: int = Field(default=0, ge=0, le=32768)

    @field_validator("provider")
    @classmethod
    def _embeds(cls, value: str) -> str:
        if value == "none":
            raise ValueError("none is for single collections that bring their own vectors; name one that embeds")
        return value


class RemoteSettings(BaseSettings):
    """One OpenAI-compatible service (`FOOTNOTE_OPENAI_*`, `FOOTNOTE_OLLAMA_*`, …, see `endpoints`); times in seconds.

    The settings from `timeout` on concern embeddings; generation has its own timeouts and retries.
    """

    base_url: str = Field(default="", description="Its address; empty means the public one, or the usual port here.")
    api_key: SecretStr = Field(default=SecretStr(""), description="Its key.")
    model: str = Field(default="", description="Chat model used where nothing names one.")
    embedding_model: str = Field(default="", description="Embedding model used where nothing names one.")
    window: int = Field(
        default=0, ge=0, le=100_000_000, description="Tokens of prompt and answer together; 0 for what is known of it."
    )
    reasoning_effort: str = Field(default="", description="How much a model thinks; empty for little, where it can.")
    thinking_tokens: int = Field(
        default=2048, ge=0, le=1_000_000, description="Room for thoughts besides the answer's, where these count."
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further parameters of a chat as JSON; null takes one away that we send."
    )
    timeout: float = Field(default=30.0, gt=0)
    max_batch: int = Field(default=100, ge=1, le=2048)
    max_in_flight: int = Field(default=4, ge=1, le=64)
    attempts: int = Field(default=3, ge=1, le=10)
    first_backoff: float = Field(default=0.5, gt=0)
    requests_per_minute: int = Field(default=0, ge=0, description="0 means no limit of ours")

    @field_validator("extra")
    @classmethod
    def _beside_the_question(cls, value: dict[str, Any]) -> dict[str, Any]:
        ours = sorted({"model", "messages", "stream", "n", "tools"} & value.keys())
        if ours:
            raise ValueError(f"{', '.join(ours)} cannot be set here")
        return value


class E5Settings(BaseSettings):
    """The model whose weights come as a package (`FOOTNOTE_E5_*`)."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_E5_")

    cache_dir: Path | None = Field(
        default=None, description="Folder of the files made once from the package; the user's cache folder if unset."
    )
    threads: int = Field(default=0, ge=0, description="0 means every core")


class OnnxSettings(BaseSettings):
    """The local model (`FOOTNOTE_ONNX_*`)."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_ONNX_")

    models_dir: Path | None = Field(default=None, description="Folder of the models that collections may name.")
    model: str = Field(default="", description="Folder of the model used where a collection names none.")
    threads: int = Field(default=0, ge=0, description="0 means every core")
    allow_model_downloads: bool = Field(
        default=False,
        validation_alias="FOOTNOTE_ALLOW_MODEL_DOWNLOADS",
        description='Fetch models named "org/name" from the hub, those with a pinned checksum.',
    )
    model_sha256: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict, description="SHA-256 of model.onnx by hub name: org/name=0123…, separated by commas."
    )

    @field_validator("model_sha256", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = {}
        for part in filter(None, map(str.strip, value.split(","))):
            name, equals, digest = part.rpartition("=")
            if not equals or not re.fullmatch("[0-9a-fA-F]{64}", digest):
                raise ValueError(f"'{part}' is not org/name=<64 hexadecimal digits>")
            pairs[name] = digest.lower()
        return pairs

    def pinned(self, model: str) -> str:
        """Return the pinned checksum of a hub model, "" for none."""
        return self.model_sha256.get(model, "")

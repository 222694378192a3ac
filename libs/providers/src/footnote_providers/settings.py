"""The deployment's part of provider settings: default provider, addresses, keys, limits."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class DefaultSettings(BaseSettings):
    """Embeddings used where a collection names none (`FOOTNOTE_EMBEDDING_*`)."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_EMBEDDING_")

    provider: str = "builtin"
    model: str = ""
    dimensions: int = Field(default=0, ge=0, le=32768)

    @field_validator("provider")
    @classmethod
    def _embeds(cls, value: str) -> str:
        if value == "none":
            raise ValueError("none is for single collections that bring their own vectors; name one that embeds")
        return value


class RemoteSettings(BaseSettings):
    """One remote provider (`FOOTNOTE_OPENAI_*`, `FOOTNOTE_OLLAMA_*`, …); times in seconds."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_OPENAI_")

    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    embedding_model: str = ""
    timeout: float = Field(default=30.0, gt=0)
    max_batch: int = Field(default=100, ge=1, le=2048)
    max_in_flight: int = Field(default=4, ge=1, le=64)
    attempts: int = Field(default=3, ge=1, le=10)
    first_backoff: float = Field(default=0.5, gt=0)
    requests_per_minute: int = Field(default=0, ge=0, description="0 means no limit of ours")


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
        """Return the checksum of a model of the hub, "" for none."""
        return self.model_sha256.get(model, "")

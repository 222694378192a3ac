"""The deployment's part of provider settings: default provider, addresses, keys, limits."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class DefaultSettings(BaseSettings):
    """Embeddings used where a collection names none (`FOOTNOTE_EMBEDDING_*`)."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_EMBEDDING_")

    provider: str = "builtin"
    model: str = ""
    dimensions: int = Field(default=0, ge=0, le=32768)


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

    models_dir: Path | None = None
    model: str = ""
    threads: int = Field(default=0, ge=0, description="0 means every core")

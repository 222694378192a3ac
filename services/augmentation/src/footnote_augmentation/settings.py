"""Settings of the augmentation service, read once from the environment."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Variables FOOTNOTE_AUGMENTATION_*: addresses and limits; the others are in `footnote_kit.collection_settings`."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_AUGMENTATION_")

    reranker: str = Field(default="", description="Reranker used when a request names none; empty means none.")
    rerank_model: str = Field(default="", description="Its model, folder or address.")
    rerank_url: str = Field(default="", description="Address of the /rerank endpoint of the http reranker.")
    rerank_api_key: str = Field(default="", description="Key sent to that endpoint as a bearer token.", repr=False)
    rerank_timeout: float = Field(
        default=5.0, gt=0, description="Seconds a reranker may take before its work is left out."
    )
    max_candidates: int = Field(default=200, ge=1, description="Candidates accepted in one request.")

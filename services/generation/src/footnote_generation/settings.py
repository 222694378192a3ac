"""Settings of the generation service, read once from the environment."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Variables FOOTNOTE_GENERATION_*; addresses and keys of models are in `footnote_providers.endpoints`."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_GENERATION_")

    provider: str = Field(
        default="",
        # Never inferred from a key: a key that happens to be in the shell must not send texts away.
        description="Used when nothing else names one; empty means builtin.",
    )
    model: str = Field(default="", description="Model of that provider.")
    connect_timeout: float = Field(default=5.0, gt=0, description="Seconds to connect to a model.")
    first_token_timeout: float = Field(default=30.0, gt=0, description="Seconds a model may take to its first token.")
    token_timeout: float = Field(default=20.0, gt=0, description="Seconds a model may take between two tokens.")
    attempts: int = Field(default=3, ge=1, le=10, description="Attempts before the first token.")
    not_found_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Support below which the built-in answerer says that it found nothing."
    )
    verifier: str = Field(
        default="",
        description="Who reads after the rules: model (the one that answers), model:<provider>:<model>, nli:<folder "
        "of an ONNX model>, <embedding provider>:<model>, or <a registered verifier>:<model>; empty is model.",
    )
    verifier_threshold: float = Field(
        default=0, ge=0, le=1, description="Support from which the opinion of nli or embeddings counts; 0 for 0.9."
    )
    verifier_timeout: float = Field(
        default=0, ge=0, description="Seconds that one call of it may take; 0 for 20 of a language model, else 10."
    )
    verifier_calls: int = Field(default=3, ge=1, le=100, description="Calls of a language model for one answer.")
    verifier_tokens: int = Field(
        default=12_000, ge=500, le=1_000_000, description="Tokens that these may take together, prompts and answers."
    )
    prices: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description="US dollars per million tokens of prompt and answer, by the beginning of a model's name, as JSON.",
    )

"""Settings of the generation service, read once from the environment."""

from __future__ import annotations

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Variables FOOTNOTE_GENERATION_*, and those that OpenAI-compatible providers are commonly set by."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_GENERATION_", populate_by_name=True)

    provider: str = Field(
        default="",
        # Never guessed from a key: one that a shell happens to hold must not send texts away.
        description="Used when nothing else names one; empty means builtin.",
    )
    model: str = Field(default="", description="Model of that provider.")
    openai_base_url: str = Field(
        default="", validation_alias=AliasChoices("FOOTNOTE_OPENAI_BASE_URL", "OPENAI_BASE_URL")
    )
    openai_api_key: str = Field(
        default="", repr=False, validation_alias=AliasChoices("FOOTNOTE_OPENAI_API_KEY", "OPENAI_API_KEY")
    )
    openai_model: str = Field(default="", validation_alias=AliasChoices("FOOTNOTE_OPENAI_MODEL", "OPENAI_MODEL"))
    ollama_base_url: str = Field(default="", validation_alias="FOOTNOTE_OLLAMA_BASE_URL")
    gemini_base_url: str = Field(default="", validation_alias="FOOTNOTE_GEMINI_BASE_URL")
    gemini_api_key: str = Field(
        default="", repr=False, validation_alias=AliasChoices("FOOTNOTE_GEMINI_API_KEY", "GEMINI_API_KEY")
    )
    vllm_base_url: str = Field(default="", validation_alias="FOOTNOTE_VLLM_BASE_URL")
    vllm_api_key: str = Field(default="", repr=False, validation_alias="FOOTNOTE_VLLM_API_KEY")
    anthropic_base_url: str = Field(default="", validation_alias="FOOTNOTE_ANTHROPIC_BASE_URL")
    anthropic_api_key: str = Field(
        default="", repr=False, validation_alias=AliasChoices("FOOTNOTE_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY")
    )
    connect_timeout: float = Field(default=5.0, gt=0, description="Seconds to connect to a model.")
    first_token_timeout: float = Field(default=30.0, gt=0, description="Seconds a model may take to its first token.")
    token_timeout: float = Field(default=20.0, gt=0, description="Seconds a model may take between two tokens.")
    attempts: int = Field(default=3, ge=1, le=10, description="Attempts before the first token.")
    not_found_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Support below which the built-in answerer says that it found nothing."
    )
    verifier: str = Field(
        default="",
        description="A second opinion on statements: nli:<folder of an ONNX model>, <embedding provider>:<model>, or "
        "<a registered verifier>:<model>.",
    )
    verifier_threshold: float = Field(
        default=0, ge=0, le=1, description="Support from which its opinion counts; 0 for 0.9."
    )
    verifier_timeout: float = Field(default=5.0, gt=0, description="Seconds that it may take over one statement.")
    prices: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description="US dollars per million tokens of prompt and answer, by the beginning of a model's name, as JSON.",
    )

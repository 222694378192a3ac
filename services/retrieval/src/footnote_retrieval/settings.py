"""Settings of the retrieval service, read once from the environment (`FOOTNOTE_RETRIEVAL_*`)."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The deployment's defaults for searches, where neither request nor collection decides; times in seconds."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_RETRIEVAL_")

    candidates: int = Field(
        default=60, ge=10, le=1000, description="Candidates that each channel brings before fusion."
    )
    embed_timeout: float = Field(default=5.0, gt=0, description="Longest wait for the query's vector.")
    dense_timeout: float = Field(default=2.0, gt=0, description="Longest wait for the dense channel.")
    lexical_timeout: float = Field(default=2.0, gt=0, description="Longest wait for the lexical channel.")
    read_timeout: float = Field(
        default=5.0, gt=0, description="Longest wait for metadata queries, neighbours and parents."
    )
    memory_floor: float = Field(
        default=0.85,
        ge=0,
        le=1,
        description="Likeness from which a remembered message counts that shares no word with the question.",
    )
    memory_timeout: float = Field(default=2.0, gt=0, description="Longest wait for memory search, embedding included.")
    breaker_failures: int = Field(
        default=4, ge=1, description="Failures in a row after which a dependency is left alone."
    )
    breaker_open: float = Field(
        default=5.0, gt=0, description="How long it is left alone before one call tries it again."
    )
    file_name_weight: float = Field(
        default=0.3,
        ge=0,
        le=1,
        # 0.15, 0.3 and 0.6 do not differ measurably: nDCG@10 with the built-in embedder, 70 questions a set, titles as
        # file names: Cranfield 0.3621, 0.3628, 0.3672 (without names 0.3423), PIAF 0.8565 each (0.8536), SQuAD-13
        # 0.8775 each (0.8775). By the steps of `ranking` on captured candidates.
        description="Share of its own score that a passage gains for a word of the question that only its file has.",
    )
    near_duplicate: float = Field(
        default=0.9,
        gt=0,
        le=1,
        description="Share of common three-word runs above which a passage is dropped as a repetition.",
    )
    long_question_words: int = Field(default=40, ge=5, description="Words from which AUTO takes a question to be long.")

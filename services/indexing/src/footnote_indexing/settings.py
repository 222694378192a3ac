"""Settings of the indexing service, read once from the environment (`FOOTNOTE_INDEXING_*`)."""

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Times in seconds, sizes as named."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_INDEXING_")

    database_url: str = ""
    """SQLAlchemy URL, "postgresql://…"; empty means SQLite in the data folder."""
    cache_url: str = ""
    """"redis://…"; empty means SQLite in the data folder."""
    cache_ttl: float = Field(default=86400.0, gt=0)
    cutting_processes: int = Field(default=1, ge=0, le=32)
    """Number of processes that cut long documents, started on demand; 0 cuts them on threads."""
    store_batch: int = Field(default=100, ge=1, le=1000)
    store_in_flight: int = Field(default=4, ge=1, le=32)
    store_attempts: int = Field(default=3, ge=1, le=10)
    purge_grace: float = Field(default=10.0, ge=0)
    """How long a replaced revision stays in the store, for searches that began before the switch."""
    headstart: float = Field(default=0.25, ge=0)
    """How long a new revision of a searchable document is known as hidden before its first chunk is written."""
    rollback_window: float = Field(default=3600.0, ge=0)
    """How long the vectors of a replaced embedding model are kept."""
    abandon_after: float = Field(default=86400.0, gt=0)
    """When a revision that was never completed is abandoned."""
    vectors_later: Literal["auto", "always", "never"] = "auto"
    """Whether rows can be searched by their words before they have vectors; auto: only with slow embedders."""
    owed_interval: float = Field(default=1.0, gt=0)
    """How long to wait, after the last owed vectors were made, before looking for others."""
    sweep_interval: float = Field(default=2.0, gt=0)
    recovery_interval: float = Field(default=3600.0, gt=0)
    """How often ledger and store are compared; also at every start."""
    expired_after: float = Field(default=5.0, ge=0)
    """How long after their expiry chunks are removed; searches stop returning them when they expire."""

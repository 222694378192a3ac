"""Settings that all services share, read from environment variables with the prefix FOOTNOTE_."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

# Services start in this order and stop in the reverse order.
DEFAULT_PORTS: dict[str, int] = {
    "ingestion": 7101,
    "indexing": 7102,
    "retrieval": 7103,
    "augmentation": 7104,
    "generation": 7105,
    "edge": 7100,
}
STAGES = tuple(DEFAULT_PORTS)
PUBLIC = frozenset({"edge"})
"""Services that serve any client; the others serve only services."""
AUTO = "auto"


class KitSettings(BaseSettings):
    """The settings that every service needs; a stage's own settings are in that service."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_", extra="ignore", frozen=True)

    data_dir: Path = Field(default=Path("footnote-data"), description="Folder of all state of this deployment")
    accept: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Parts, with commas between, that may be missing or another installation's at this start: edge, "
        "jobs, documents, files, indexing, vectors. What is missing begins empty. Unset it afterwards",
    )
    listen_host: str = Field(default="127.0.0.1", description="Address to listen on")

    processes: Literal["auto", "1", "2", "3", "4", "5", "6"] = Field(
        default="auto",
        description="Processes that `serve all` divides its services among; auto: three where there is more than one "
        "core, else one",
    )

    # Addresses of the services: host:port, or any name that gRPC resolves. Services in one process share theirs
    # directly.
    edge_address: str = "127.0.0.1:7100"
    ingestion_address: str = "127.0.0.1:7101"
    indexing_address: str = "127.0.0.1:7102"
    retrieval_address: str = "127.0.0.1:7103"
    augmentation_address: str = "127.0.0.1:7104"
    generation_address: str = "127.0.0.1:7105"

    vector_store: str = Field(
        default="",
        description="Vector store by its id; empty: milvus-server where vector_store_uri is set, else milvus, embedded",
    )
    vector_store_uri: str = Field(default="", description="Its address; empty means the embedded engine")
    vector_store_token: str = Field(default="", description="Its credentials, user:password or a key", repr=False)

    store_compaction_hours: float = Field(
        default=24.0,
        ge=0,
        description="Hours after which the embedded engine's file is rewritten without what was deleted, if it was "
        "written to; the engine is unavailable for a moment. 0: at every start instead",
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info",
        description="Least severity that is logged; of libraries warnings at least, never texts",
    )
    log_format: Literal["auto", "json", "human"] = Field(
        default="auto", description="auto: human on a terminal, else json"
    )

    tls_cert_file: Path | None = Field(default=None, description="Certificate chain of this server, PEM")
    tls_key_file: Path | None = Field(default=None, description="Its private key, PEM")
    tls_ca_file: Path | None = Field(
        default=None, description="Authorities that peers' certificates must come from, PEM"
    )
    tls_client_auth: bool = Field(default=False, description="mTLS: callers show their certificate too")

    tls_peers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Names in the certificates of services: with mTLS a stage accepts no others"
    )

    service_token: str = Field(
        default="",
        description="Secret that services running apart share; of two, with a comma between, the first signs",
        repr=False,
    )
    service_token_file: Path | None = Field(default=None, description="File that holds it instead, one a line")

    call_timeout: float = Field(
        default=30.0, gt=0, description="Seconds given to a unary call between services at most"
    )
    stream_timeout: float = Field(
        default=900.0,
        gt=0,
        description="The same for a streaming call without its own limit; no call lasts longer than this, or than 3660",
    )
    grace_seconds: float = Field(
        default=10.0, ge=0, description="Seconds that calls in flight get to finish on shutdown"
    )
    drain_seconds: float = Field(default=0.0, ge=0, description="Seconds between not serving and refusing calls")
    ready_interval: float = Field(
        default=2.0, gt=0, description="Seconds between two looks at a service's dependencies"
    )
    ready_timeout: float = Field(default=60.0, gt=0, description="Seconds within which all should be ready")
    max_concurrent_calls: int = Field(default=4096, gt=0, description="Calls served at a time; more are refused")
    max_connections: int = Field(default=1024, gt=0, description="Connections to a stage at a time; more are closed")
    max_streams_per_connection: int = Field(
        default=1024, gt=0, description="Calls at a time on one connection; more wait at the caller's"
    )
    max_connection_age: float = Field(default=600.0, gt=0, description="Seconds after which clients must reconnect")
    max_message_bytes: int = Field(default=16 * 1024 * 1024, gt=0, description="Largest message")

    slow_call_seconds: float = Field(default=10.0, gt=0, description="Calls that take longer are logged as rpc_slow")
    keep_traces: int = Field(default=200, ge=0, description="Traces kept in memory for each tenant")
    capture_content: bool = Field(default=False, description="Record texts of documents and prompts in spans")
    trace_providers: bool = Field(
        default=False, description="Send the trace's id to providers (traceparent), so that their spans join it"
    )
    metrics_port: int | None = Field(default=None, ge=0, le=65535, description="Serve Prometheus metrics on this port")

    @model_validator(mode="after")
    def _check(self) -> "KitSettings":
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_cert_file and tls_key_file belong together")
        if self.tls_client_auth and (self.tls_cert_file is None or self.tls_ca_file is None):
            raise ValueError("tls_client_auth needs tls_cert_file, tls_key_file and tls_ca_file")
        if self.tls_peers and not self.tls_client_auth:
            raise ValueError("tls_peers needs tls_client_auth")
        if self.service_token and self.service_token_file is not None:
            raise ValueError("service_token and service_token_file exclude each other")
        return self

    @field_validator("tls_peers", "accept", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    def without_tls(self) -> "KitSettings":
        """Return the same settings for a connection inside this process."""
        nothing = {"tls_cert_file": None, "tls_key_file": None, "tls_ca_file": None, "tls_client_auth": False}
        return self.model_copy(update={**nothing, "tls_peers": ()})

    def address(self, stage: str) -> str:
        """Return the configured address of a stage; KeyError for an unknown one."""
        if stage not in DEFAULT_PORTS:
            raise KeyError(stage)
        address: str = getattr(self, f"{stage}_address")
        return address

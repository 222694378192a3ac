"""Settings that every service shares, read from the environment with the prefix FOOTNOTE_."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

# The order in which services start; they stop in the opposite one.
DEFAULT_PORTS: dict[str, int] = {
    "ingestion": 7101,
    "indexing": 7102,
    "retrieval": 7103,
    "augmentation": 7104,
    "generation": 7105,
    "edge": 7100,
}
STAGES = tuple(DEFAULT_PORTS)
ENGINE_PORT = 7119


class KitSettings(BaseSettings):
    """What every service needs to know; a stage's own settings live in that service."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_", extra="ignore", frozen=True)

    data_dir: Path = Field(Path("footnote-data"), description="Folder of all state of this deployment")
    listen_host: str = Field("127.0.0.1", description="Address to listen on")
    insecure_listen: bool = Field(
        False,
        description="Listen beyond loopback although callers are not authenticated (private networks, containers)",
    )

    edge_address: str = "127.0.0.1:7100"
    ingestion_address: str = "127.0.0.1:7101"
    indexing_address: str = "127.0.0.1:7102"
    retrieval_address: str = "127.0.0.1:7103"
    augmentation_address: str = "127.0.0.1:7104"
    generation_address: str = "127.0.0.1:7105"

    vector_store_uri: str = Field("", description="Milvus by address; empty means the embedded engine")
    vector_store_token: str = Field("", description="Its credentials, user:password or a key", repr=False)

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "human"] = Field("auto", description="auto: human on a terminal, else json")

    tls_cert_file: Path | None = Field(None, description="Certificate chain of this server, PEM")
    tls_key_file: Path | None = Field(None, description="Its private key, PEM")
    tls_ca_file: Path | None = Field(None, description="Authorities that peers' certificates must come from, PEM")
    tls_client_auth: bool = Field(
        False, description="mTLS: servers demand a certificate from callers, clients show theirs"
    )

    call_timeout: float = Field(30.0, gt=0, description="Seconds given to a unary call between services at most")
    stream_timeout: float = Field(900.0, gt=0, description="Seconds given to a streaming call between services at most")
    grace_seconds: float = Field(10.0, ge=0, description="Seconds that calls in flight get to finish on shutdown")
    drain_seconds: float = Field(0.0, ge=0, description="Seconds between not serving and refusing, for load balancers")
    ready_interval: float = Field(2.0, gt=0, description="Seconds between two looks at a service's dependencies")
    ready_timeout: float = Field(60.0, gt=0, description="Seconds within which `serve all` expects all to be ready")
    max_concurrent_calls: int = Field(4096, gt=0, description="Calls served at a time; more are refused")
    max_connection_age: float = Field(600.0, gt=0, description="Seconds after which clients reconnect, to spread load")
    max_message_bytes: int = Field(16 * 1024 * 1024, gt=0, description="Largest message")

    keep_traces: int = Field(200, ge=0, description="Traces kept in memory")
    capture_content: bool = Field(False, description="Record texts of documents and prompts in spans")
    metrics_port: int | None = Field(None, ge=0, le=65535, description="Serve Prometheus metrics on this port")

    @model_validator(mode="after")
    def _check(self) -> "KitSettings":
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_cert_file and tls_key_file belong together")
        if self.tls_client_auth and (self.tls_cert_file is None or self.tls_ca_file is None):
            raise ValueError("tls_client_auth needs tls_cert_file, tls_key_file and tls_ca_file")
        return self

    def address(self, stage: str) -> str:
        """Return the configured address of a stage; KeyError for an unknown one."""
        if stage not in DEFAULT_PORTS:
            raise KeyError(stage)
        address: str = getattr(self, f"{stage}_address")
        return address

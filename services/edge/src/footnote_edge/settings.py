"""Settings of the edge service; read once when the service is built."""

import re
import socket
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from footnote_kit.net import is_loopback
from footnote_kit.settings_words import at_most
from footnote_kit.validation import NAME, RULE
from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:]{2,39}")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]{0,31}://(?:[a-z0-9._-]{1,253}|\[[0-9a-f:]{2,39}\])(?::[0-9]{1,5})?")
_SCOPES = re.compile(r"[A-Za-z0-9:/._-]{1,128}(?: [A-Za-z0-9:/._-]{1,128}){0,31}")


USER_AGENT = "FootnoteBot/1"


class Settings(BaseSettings):
    """Settings of the edge service, from the environment (`FOOTNOTE_EDGE_…`)."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_EDGE_", extra="ignore")

    database_url: str = Field(
        default="",
        description="Conversations, feedback and keys: empty for SQLite in the data folder, or postgresql://…",
    )
    jobs_database_url: str = Field(
        default="",
        description="State of durable jobs: empty for SQLite in the data folder (or the PostgreSQL of database_url).",
    )
    executor_id: str = Field(
        default="",
        description="Unique name of this replica; if it dies, other replicas take over its jobs within half a minute.",
    )
    document_concurrency: int = Field(
        default=4,
        ge=1,
        description="Maximum documents that this replica processes at once, plus one for a tenant that has none "
        "among them.",
    )
    background_concurrency: int = Field(
        default=2, ge=1, description="Maximum other jobs that this replica runs at once."
    )
    queue_polling_seconds: float = Field(
        default=0.05,
        gt=0,
        description="How often the job queues are polled while there is work; less often without work.",
    )
    reconcile_seconds: float = Field(
        default=30.0, gt=0, description="Seconds between searches for documents that wait without a job."
    )
    leftovers_seconds: float = Field(
        default=2.0,
        gt=0,
        description="Seconds between repairs after crashes: interrupted deletions and label changes, documents with "
        "lost chunks.",
    )
    compare_seconds: float = Field(
        default=3600.0,
        gt=0,
        description="Seconds between comparisons of all documents with the searchable ones, and of stored answers with "
        "the documents and rows they were made of; also after a stage restarted.",
    )
    backlog_seconds: float = Field(
        default=5.0, gt=0, description="Seconds between counts of waiting documents, for the metrics."
    )
    retry_ceiling_seconds: float = Field(
        default=10.0, gt=0, description="Maximum seconds before a job retries an unavailable stage."
    )
    job_timeout_seconds: float = Field(default=3600.0, gt=0, description="Maximum seconds for one document.")
    ask_timeout_seconds: float = Field(
        default=120.0, gt=0, description="Seconds for an answer if the caller sets no deadline."
    )
    call_timeout_seconds: float = Field(default=30.0, gt=0, description="Seconds for a short call to another stage.")
    watch_poll_seconds: float = Field(
        default=1.0,
        gt=0,
        description="Seconds between polls of a watch for changes by other replicas; without other replicas up to "
        "eight times more.",
    )
    watch_lifetime_seconds: float = Field(
        default=3600.0, gt=0, description="Seconds after which a caller has to start its watch again."
    )
    max_question_characters: Annotated[int, AfterValidator(partial(at_most, 20_000))] = Field(
        default=8000,
        ge=1,
        description="Maximum characters of a question, up to 20000; documents are searched by its first 8000.",
    )
    grpc_connections: int = Field(default=512, ge=1, description="Maximum gRPC connections.")
    grpc_connections_per_peer: int = Field(
        default=128,
        ge=1,
        description="Maximum gRPC connections of one address; behind a proxy, all have the proxy's address.",
    )
    grpc_calls_per_second: float = Field(
        default=500.0,
        ge=1,
        description="gRPC calls per second above which an address is slowed down; behind a proxy, all have the "
        "proxy's address.",
    )
    http: bool = Field(default=True, description="Serve HTTP beside gRPC.")
    http_port: int = Field(default=7180, ge=0, le=65535, description="Port for HTTP.")
    public_origin: str = Field(default="", description="Address of HTTP for callers; unset, that of each request.")
    http_connections: int = Field(default=512, ge=1, description="Maximum HTTP connections; idle ones make room.")
    http_connections_per_peer: int = Field(
        default=128,
        ge=1,
        description="Maximum HTTP connections of one address; idle ones make room. A proxy is one address.",
    )
    head_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Seconds for the headers of an HTTP request, or for the handshake of a gRPC connection.",
    )
    keep_alive_seconds: float = Field(
        default=75.0, gt=0, description="Seconds that an idle HTTP connection stays open; above a proxy's (nginx: 60)."
    )
    write_seconds: float = Field(
        default=60.0, gt=0, description="Seconds after which a caller that does not read its response is disconnected."
    )
    body_seconds: float = Field(default=10.0, gt=0, description="Seconds to wait for the body of an HTTP request.")
    body_bytes_per_second: float = Field(
        default=4096, gt=0, description="Average bytes per second that a longer body must reach."
    )
    body_bytes: int = Field(default=1024 * 1024, ge=1024, description="Maximum bytes of a JSON body over HTTP.")
    vectors_body_bytes: int = Field(
        default=16 * 1024 * 1024, ge=1024, description="Maximum bytes of a JSON body with the caller's own vectors."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Host names besides loopback's under which HTTP is served without authentication, separated by "
        "commas.",
    )
    keyless: bool = Field(
        default=False,
        description="Listen beyond loopback without authentication: every caller is an administrator.",
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description='Origins whose pages may call over HTTP, separated by commas; "*" for all.'
    )
    auth: Annotated[tuple[Literal["keys", "jwt"], ...], NoDecode] = Field(
        default=(),
        description='How callers authenticate: "keys", "jwt" or both; unset for no authentication (loopback only).',
    )
    first_key_file: Path | None = Field(
        default=None,
        description="File for a first administrator's key, written if there are no keys; only its owner can read it.",
    )
    jwt_jwks_url: str = Field(default="", description="URL of the token issuer's keys (JWKS).")
    jwt_issuer: str = Field(default="", description="The issuer that tokens must name; empty for any with its keys.")
    jwt_audience: str = Field(default="footnote", description="The audience that tokens must name.")
    jwt_leeway_seconds: float = Field(default=30.0, ge=0, description="Clock skew allowed.")
    jwt_tenant_claim: str = Field(default="tenant", description="Claim with the tenant: its name or dotted path.")
    jwt_roles_claim: str = Field(default="roles", description="Claim with reader, writer or admin: its name or path.")
    jwt_groups_claim: str = Field(
        default="groups", description="Claim with the groups that collections can be shared with: its name or path."
    )
    jwt_default_tenant: str = Field(default="", description="Tenant of tokens without that claim; empty refuses them.")
    jwt_default_role: Literal["", "reader", "writer", "admin"] = Field(
        default="", description="Role of tokens that name none; empty refuses them."
    )
    oidc_client_id: str = Field(
        default="",
        description="Public client id of jwt_issuer with which the console signs users in (PKCE); empty for none.",
    )
    oidc_scopes: str = Field(
        default="openid",
        description="Scopes that the console requests from that issuer, separated by spaces; openid among them.",
    )
    oidc_token: Literal["access", "id"] = Field(
        default="access",
        description='Token that the console sends: "id" if access tokens are opaque or have another audience.',
    )
    oidc_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Origins of that issuer's token and revocation endpoints, if they differ from its own."
    )
    external_links: bool = Field(
        default=True,
        description="Whether the console opens links in answers, after it has shown their target.",
    )
    requests_per_minute: float = Field(
        default=0, ge=0, description="Calls per tenant and minute over all replicas; 0 for no limit."
    )
    uploads_per_minute: float = Field(
        default=0, ge=0, description="Uploads per tenant and minute over all replicas; 0 for no limit."
    )
    upload_bytes_per_minute: float = Field(
        default=0, ge=0, description="Uploaded bytes per tenant and minute over all replicas; 0 for no limit."
    )
    tokens_per_minute: float = Field(
        default=0, ge=0, description="Model tokens per tenant and minute over all replicas; 0 for no limit."
    )
    watches_per_user: int = Field(default=32, ge=1, description="Maximum watches of a user at once.")
    asks_at_once: int = Field(
        default=128,
        ge=1,
        description="Maximum questions at once; further ones wait if their turn is likely to come in time, else they "
        "are refused.",
    )
    uploads_at_once: int = Field(
        default=64, ge=1, description="Maximum uploads at once; further ones wait, as questions do."
    )
    calls_at_once: int = Field(
        default=256, ge=1, description="Maximum other calls at once; further ones wait, as questions do."
    )
    admission_wait_seconds: float = Field(
        default=10.0, gt=0, description="Maximum seconds that a call waits to start; at most half of its deadline."
    )
    crowded_calls_per_tenant: int = Field(
        default=1,
        ge=1,
        description="Maximum calls at once of a tenant or user that used more than others, while the service is "
        "crowded.",
    )
    crowded_waiting_per_tenant: int = Field(
        default=64,
        ge=1,
        description="Maximum calls of one tenant that wait for their turn while the service is crowded.",
    )
    crowded_wait_seconds: float = Field(
        default=10.0, gt=0, description="Maximum seconds that a call waits for its turn before it is refused."
    )
    max_documents_per_tenant: int = Field(
        default=0, ge=0, description="Maximum documents of a tenant; 0 for no limit, as for the limits below."
    )
    max_bytes_per_tenant: int = Field(default=0, ge=0, description="Maximum bytes of all files of a tenant.")
    max_collections_per_tenant: int = Field(default=0, ge=0, description="Maximum collections of a tenant.")
    max_tokens_per_day: int = Field(
        default=0,
        ge=0,
        description="Maximum tokens of models and embeddings of a tenant per day (UTC), over all replicas.",
    )
    max_cost_per_day: float = Field(
        default=0, ge=0, description="Maximum cost of a tenant's answers per day in US dollars, where prices are known."
    )
    max_sources_per_tenant: int = Field(default=0, ge=0, description="Maximum sources of a tenant; 0 for no limit.")
    source_key: str = Field(
        default="",
        description="Keys that encrypt secrets of sources: 32 bytes in base64, the first encrypts, all decrypt.",
    )
    source_key_file: Path | None = Field(default=None, description="File with those keys, readable only by this user.")
    source_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that sources may reach, separated by commas; *.example.org includes subdomains; unset for "
        "all.",
    )
    source_private_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Private hosts, host:port or networks that sources may reach.",
    )
    source_folders: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Folders of this server that sources may read, separated by commas; tenant=/folder for one tenant.",
    )
    source_user_agent: str = Field(
        default=USER_AGENT, min_length=1, description="User agent of sources, also for robots.txt."
    )
    source_item_bytes: int = Field(
        default=100 * 1024 * 1024, ge=1024, description="Maximum bytes of an item of a source."
    )
    source_items: int = Field(default=100_000, ge=1, description="Maximum items of a source.")
    source_timeout_seconds: float = Field(default=30.0, gt=0, description="Seconds that a source may be silent.")
    source_watches: int = Field(
        default=32, ge=0, description="Maximum folders watched for changes; 0 leaves them to their schedules."
    )
    source_look_seconds: float = Field(default=5.0, gt=0, description="Seconds between checks for due sources.")
    answer_days: float = Field(
        default=30, ge=0, le=3650, description="Days that answers outside conversations are stored; 0 for none."
    )
    evaluation_days: float = Field(
        default=365,
        ge=1,
        le=36500,
        description="Days that runs of golden questions are stored, up to 100 per collection.",
    )
    audit_days: float = Field(default=180, ge=1, le=36500, description="Days that events of the audit log are stored.")
    operator_tenant: str = Field(
        default="",
        description="Tenant whose administrators are this deployment's operators: they set every tenant's limits and "
        "read every audit event; empty for none. Without authentication every administrator is one.",
    )
    history_messages: int = Field(default=8, ge=0, description="Messages of a conversation given to augmentation.")

    @model_validator(mode="after")
    def _complete(self) -> "Settings":
        if "jwt" in self.auth and not self.jwt_jwks_url:
            raise ValueError("jwt needs jwt_jwks_url")
        if "jwt" in self.auth and not self.jwt_audience:
            raise ValueError("jwt needs jwt_audience")
        self._check_signing_in()
        if self.first_key_file is not None and "keys" not in self.auth:
            raise ValueError("first_key_file has no effect unless auth includes keys")
        if self.auth and self.keyless:
            raise ValueError("keyless and auth exclude each other")
        if not self.auth and {"*", "null"}.intersection(self.cors_origins):
            raise ValueError(
                "cors_origins cannot open keyless calls to every page in a browser; list origins, or set auth=keys"
            )
        return self

    def _check_signing_in(self) -> None:
        if not self.oidc_client_id:
            unused = sorted({"oidc_scopes", "oidc_token", "oidc_origins"} & self.model_fields_set)
            if unused:
                raise ValueError(f"{unused[0]} has no effect without oidc_client_id")
            return
        if "jwt" not in self.auth:
            raise ValueError("oidc_client_id needs jwt in auth: only jwt accepts its issuer's tokens")
        if not _is_issuer(self.jwt_issuer):
            raise ValueError("oidc_client_id needs jwt_issuer: https://… without ? and # (http:// on loopback only)")
        if "openid" not in self.oidc_scopes.split(" ") or not _SCOPES.fullmatch(self.oidc_scopes):
            raise ValueError("oidc_scopes must be words separated by single spaces, openid among them")
        if self.oidc_token == "id" and self.jwt_audience != self.oidc_client_id:
            raise ValueError("oidc_token=id needs jwt_audience to be oidc_client_id, whom such tokens are for")

    @field_validator(
        "cors_origins", "oidc_origins", "allowed_hosts", "auth", "source_hosts", "source_private_hosts",
        "source_folders", mode="before",
    )  # fmt: skip
    @classmethod
    def _listed(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        parts = tuple(part.strip() for part in value.split(","))
        if not all(parts):
            raise ValueError("is set but names nothing, or nothing between two commas; leave it unset for none")
        return parts

    @field_validator("cors_origins", "oidc_origins", "public_origin")
    @classmethod
    def _origins(cls, value: tuple[str, ...] | str, info: ValidationInfo) -> tuple[str, ...] | str:
        for origin in filter(None, [value]) if isinstance(value, str) else value:
            if not (info.field_name == "cors_origins" and origin in ("*", "null")) and not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is not an origin; write it as https://console.example.org")
        return value

    @field_validator("operator_tenant")
    @classmethod
    def _tenant(cls, value: str) -> str:
        if value and not NAME.fullmatch(value):
            raise ValueError(RULE)
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            if not _HOST.fullmatch(host):
                raise ValueError(f"{host!r} is not a host name; write it without scheme, port and wildcards")
        return value

    job_record_hours: float = Field(
        default=24.0,
        gt=0,
        description="Hours that the ledger keeps jobs that have ended; deleted documents' go at once",
    )

    operation_hours: float = Field(
        default=168.0,
        gt=0,
        description="Hours that ended operations (reindexing, deletion of a collection) stay listed.",
    )
    operation_concurrency: int = Field(
        default=2, ge=1, le=64, description="Maximum operations of one kind that this replica runs for one tenant."
    )

    def sqlalchemy_url(self, folder: Path) -> str:
        """Return the URL of the edge's own tables, SQLite below `folder` unless set."""
        return self.database_url or f"sqlite+aiosqlite:///{folder / 'edge.db'}"

    def dbos_url(self, folder: Path) -> str:
        """Return the URL of the job state, SQLite below `folder` unless a PostgreSQL is set."""
        url = self.jobs_database_url or self.database_url
        if url.startswith("postgres"):
            return "postgresql://" + url.split("://", 1)[1]  # dbos uses a driver of its own
        return self.jobs_database_url or f"sqlite:///{folder / 'jobs.db'}"

    def executor(self) -> str:
        """Return this replica's name: SQLite has only one replica, with PostgreSQL host names distinguish them."""
        if self.executor_id:
            return self.executor_id
        shared = self.jobs_database_url or self.database_url
        return socket.gethostname() if shared.startswith("postgres") else "edge"


def _is_issuer(address: str) -> bool:
    """Return whether an address can be an issuer for browsers, with an origin that a policy can hold."""
    try:
        parts = urlsplit(address)
        safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    except ValueError:
        return False
    plain = not parts.query and not parts.fragment and "?" not in address and "#" not in address
    return safe and plain and _ORIGIN.fullmatch(f"{parts.scheme}://{parts.netloc}") is not None

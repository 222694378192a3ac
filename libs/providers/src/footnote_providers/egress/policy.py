"""The operator's policy as configured, a TOML or JSON file, a few variables, or none; and which addresses are local."""

import tomllib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_SYSTEM, ROLE_WRITER
from footnote_kit import access
from footnote_kit.errors import FailedPrecondition
from footnote_kit.net import is_loopback
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Kind(StrEnum):
    """What a provider does with texts, in the terms of `footnote_kit.registration`; stores belong to the deployment."""

    EMBEDDING = "embedding"
    MODEL = "model"
    RERANKER = "reranker"
    VERIFIER = "verifier"


Role = Literal["reader", "writer", "admin"]
_NAMES: dict[int, Role | Literal["system"]] = {ROLE_WRITER: "writer", ROLE_ADMIN: "admin", ROLE_SYSTEM: "system"}


def role_of(scope: Scope) -> Role | Literal["system"]:
    """Return the highest role of a scope that this version knows; reader where there is none."""
    return _NAMES.get(access.role_of(scope), "reader")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Allowed(_Model):
    """Allowed providers by kind, as patterns "provider" or "provider:model" with the wildcards "*" and "?".

    A kind without patterns is not restricted here; an empty list allows none.
    """

    embedding: list[str] | None = None
    model: list[str] | None = None
    reranker: list[str] | None = None
    verifier: list[str] | None = None

    def patterns(self, kind: Kind) -> list[str] | None:
        """Return the patterns of a kind; None when it is not restricted."""
        patterns: list[str] | None = getattr(self, kind.value)
        return patterns


class Limits(_Model):
    """The upper limits of a request or collection; where several apply, the lowest counts."""

    max_tokens: int = Field(default=16_384, ge=1, le=1_000_000)
    token_budget: int = Field(default=32_000, ge=100, le=1_000_000)
    system_prompt: int = Field(default=8_000, ge=0, le=100_000)
    temperature: float = Field(default=2.0, ge=0, le=2)


class Caps(_Model):
    """The limits of a rule; absent ones change nothing."""

    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    token_budget: int | None = Field(default=None, ge=100, le=1_000_000)
    system_prompt: int | None = Field(default=None, ge=0, le=100_000)
    temperature: float | None = Field(default=None, ge=0, le=2)


class Rule(_Model):
    """Additional restrictions for some tenants, roles or collections; every rule that applies is enforced."""

    tenants: list[str] = ["*"]
    roles: list[Role] = ["reader", "writer", "admin"]
    collections: list[str] | None = None
    allow: Allowed = Allowed()
    choose: Allowed = Allowed()
    limits: Caps = Caps()
    local_only: bool = False

    def applies(self, scope: Scope, collections: Sequence[str]) -> bool:
        """Return whether the rule applies to this caller and to one of these collections, by name or id."""
        if not matches_any(self.tenants, [scope.tenant_id]):
            return False
        if "roles" in self.model_fields_set and role_of(scope) not in self.roles:
            return False
        return self.collections is None or matches_any(self.collections, collections)


class Policy(_Model):
    """The whole policy; without one, all configured providers of the deployment and its collections are allowed."""

    local_only: bool = False
    local_hosts: list[str] = []
    allow: Allowed = Allowed()
    choose: Allowed = Allowed()
    limits: Limits = Limits()
    rules: list[Rule] = []
    onnx_sha256: dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = {}


class PolicySettings(BaseSettings):
    """The variables: a policy file and simple settings; both are enforced."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_", frozen=True)

    provider_policy_file: Path | None = Field(
        default=None,
        description="Which providers may be used by whom and for what, as TOML or JSON; see docs/models.md.",
    )
    local_only: bool = Field(default=False, description="No text leaves this machine, whatever is configured.")
    local_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Hosts besides loopback that count as this machine, separated by commas."
    )
    allowed_embedding_providers: Annotated[tuple[str, ...], NoDecode] | None = Field(
        default=None, description='Embedding providers that may be used: "builtin,openai:text-embedding-3-*".'
    )
    allowed_model_providers: Annotated[tuple[str, ...], NoDecode] | None = Field(
        default=None, description="Models that may answer, in the same form."
    )
    allowed_reranker_providers: Annotated[tuple[str, ...], NoDecode] | None = Field(
        default=None, description="Rerankers that may be used, in the same form."
    )
    allowed_verifier_providers: Annotated[tuple[str, ...], NoDecode] | None = Field(
        default=None, description="Verifiers that may be used, in the same form."
    )

    @field_validator("local_hosts", *(f"allowed_{kind.value}_providers" for kind in Kind), mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    def policies(self) -> list[Policy]:
        """Return the policies of the variables and the file, all enforced. FailedPrecondition for an invalid file."""
        allow = Allowed(
            embedding=_patterns(self.allowed_embedding_providers),
            model=_patterns(self.allowed_model_providers),
            reranker=_patterns(self.allowed_reranker_providers),
            verifier=_patterns(self.allowed_verifier_providers),
        )
        simple = Policy(local_only=self.local_only, local_hosts=list(self.local_hosts), allow=allow)
        return [simple, *([read(self.provider_policy_file)] if self.provider_policy_file else [])]


def _patterns(given: tuple[str, ...] | None) -> list[str] | None:
    return None if given is None else list(given)


def read(path: Path) -> Policy:
    """Return the policy in a file; FailedPrecondition explains what is wrong with it."""
    try:
        text = path.expanduser().read_text(encoding="utf-8")
        if path.suffix == ".json":
            return Policy.model_validate_json(text)
        return Policy.model_validate(tomllib.loads(text))
    except OSError as error:
        raise _wrong(path, str(error.strerror)) from error
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise _wrong(path, "; ".join(problems)) from error
    except ValueError as error:
        raise _wrong(path, str(error)) from error


def _wrong(path: Path, problem: str) -> FailedPrecondition:
    return FailedPrecondition(f"The provider policy {path} cannot be used: {problem}")


def matches(patterns: Iterable[str], provider: str, model: str) -> bool:
    """Return whether one of the patterns matches a provider and model."""
    for pattern in patterns:
        wanted, colon, wanted_model = pattern.partition(":")
        if fnmatchcase(provider, wanted) and (not colon or fnmatchcase(model, wanted_model)):
            return True
    return False


def matches_any(patterns: Iterable[str], names: Sequence[str]) -> bool:
    """Return whether one of the names matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def stays_here(url: str, local_hosts: Sequence[str] = ()) -> bool:
    """Return whether an HTTP address is on this machine: loopback, or a host that the operator declares local."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return bool(host) and (is_loopback(host) or matches_any(local_hosts, [host]))

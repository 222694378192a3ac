"""The operator's policy: which providers may receive which texts, from which callers, and their limits."""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import (
    EmbeddingSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
    StringList,
)
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_WRITER, Role
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, PermissionDenied
from footnote_kit.registration import callers_own
from footnote_providers import registry
from footnote_providers.egress import limits
from footnote_providers.egress.egress import UNBOUND, Egress, Use
from footnote_providers.egress.policy import Kind, Limits, Policy, stays_here

FREE, KEPT = TextBounds(), TextBounds(local_only=True, because="the collection 'hr'")
AWAY = Use(Kind.MODEL, "openai", "gpt-5-mini", local=False)
HERE = Use(Kind.MODEL, "ollama", "llama3", local=True)
OWN = Use(Kind.MODEL, "builtin", "extractive-1", local=True, builtin=True)


def scope(role: Role.ValueType = ROLE_READER, tenant: str = "acme") -> Scope:
    return Scope(tenant_id=tenant, user_id="u", roles=[role])


def egress(**values: object) -> Egress:
    return Egress([Policy.model_validate(values)])


def outcome(check: object) -> str:
    refusal: FootnoteError | None = None
    try:
        check()  # type: ignore[operator]
    except FootnoteError as error:
        refusal = error
    if refusal is None:
        return "allowed"
    assert refusal.reason == "PROVIDER_NOT_ALLOWED"
    assert set(refusal.metadata) == {"kind", "provider", "model"}
    assert "Choose" in refusal.message or "ask an administrator" in refusal.message
    return type(refusal).__name__


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("why", ["collection", "deployment", "rule", "unsaid"])
def test_texts_that_must_stay_here_are_given_to_nothing_elsewhere(kind: Kind, why: str) -> None:
    policies = {"deployment": egress(local_only=True), "rule": egress(rules=[{"tenants": ["ac*"], "local_only": True}])}
    policy = policies.get(why, Egress())
    bounds = {"collection": KEPT, "unsaid": UNBOUND}.get(why, FREE)
    for role in (ROLE_READER, ROLE_WRITER, ROLE_ADMIN, ROLE_SYSTEM):
        for use in (Use(kind, "openai", "m", local=False), Use(kind, "third", "", local=False)):
            assert outcome(lambda use=use, role=role: policy.check(use, scope(role), bounds)) == "FailedPrecondition"
        policy.check(Use(kind, "ollama", "m", local=True), scope(role), bounds)
    if why == "rule":
        policy.check(Use(kind, "openai", "m", local=False), scope(tenant="other"), bounds)


@pytest.mark.parametrize("role", [ROLE_READER, ROLE_WRITER, ROLE_ADMIN])
@pytest.mark.parametrize("use", [AWAY, HERE, OWN])
@pytest.mark.parametrize("source", ["nobody", "deployment", "collection", "policy", "policy of a role"])
def test_who_may_choose_what(role: Role.ValueType, use: Use, source: str) -> None:
    chosen = [(use.provider, use.model)] if source == "deployment" else []
    bounds = TextBounds()
    if source == "collection":
        bounds.configured.append(ProviderChoice(kind=PROVIDER_KIND_MODEL, provider=use.provider, model=use.model))
    policy = Egress()
    if source == "policy":
        policy = egress(choose={"model": [f"{use.provider}:*"]})
    if source == "policy of a role":
        policy = egress(rules=[{"roles": ["writer"], "choose": {"model": ["*"]}}])
    free = role == ROLE_ADMIN or use is OWN or source in ("deployment", "collection", "policy")
    free = free or (source == "policy of a role" and role == ROLE_WRITER)
    expected = "allowed" if free else "PermissionDenied"
    assert outcome(lambda: policy.check_choice(use, scope(role), chosen, bounds)) == expected
    if source == "collection" and not free:
        raise AssertionError
    other = Use(Kind.MODEL, use.provider, "another-model", use.local)
    if role != ROLE_ADMIN and source in ("nobody", "deployment", "collection"):
        assert outcome(lambda: policy.check_choice(other, scope(role), chosen, bounds)) == "PermissionDenied"


@pytest.mark.parametrize("roles", [[0], [99], [ROLE_READER, 99], [99, ROLE_WRITER]], ids=str)
def test_a_role_of_another_version_gives_no_right_to_choose(roles: list[Role.ValueType]) -> None:
    caller = Scope(tenant_id="acme", user_id="u", roles=roles)
    assert outcome(lambda: Egress().check_choice(AWAY, caller, [], TextBounds())) == "PermissionDenied"
    readers_only = egress(rules=[{"roles": ["reader"], "allow": {"model": ["builtin"]}}])
    expected = "allowed" if ROLE_WRITER in roles else "PermissionDenied"
    assert outcome(lambda: readers_only.check(AWAY, caller, FREE)) == expected


@pytest.mark.parametrize(
    ("patterns", "provider", "model", "allowed"),
    [
        (["openai"], "openai", "anything", True),
        (["openai:gpt-5*"], "openai", "gpt-5-mini", True),
        (["openai:gpt-5*"], "openai", "gpt-4o", False),
        (["ollama:llama3.2:3b"], "ollama", "llama3.2:3b", True),
        (["*:text-embedding-3-*"], "openai", "text-embedding-3-small", True),
        (["onnx:org/*"], "onnx", "org/model", True),
        (["*"], "third", "", True),
        ([], "builtin", "", False),
    ],
)
def test_patterns(patterns: list[str], provider: str, model: str, allowed: bool) -> None:
    policy = egress(allow={"embedding": patterns})
    use = Use(Kind.EMBEDDING, provider, model, local=True)
    assert outcome(lambda: policy.check(use, scope(ROLE_ADMIN), FREE)) == ("allowed" if allowed else "PermissionDenied")
    policy.check(Use(Kind.MODEL, provider, model, local=True), scope(), FREE)  # another kind is not restricted by it


def test_rules_are_for_tenants_roles_and_collections_and_all_of_them_count() -> None:
    policy = egress(
        allow={"model": ["openai", "builtin"]},
        rules=[
            {"tenants": ["b*"], "allow": {"model": ["builtin"]}},
            {"roles": ["reader"], "allow": {"model": ["*:*-mini", "builtin"]}},
            {"collections": ["hr*"], "local_only": True},
        ],
    )
    big, small = Use(Kind.MODEL, "openai", "gpt-5", False), Use(Kind.MODEL, "openai", "gpt-5-mini", False)
    hr = TextBounds(collections=["handbook", "hr-files"])
    rows = [
        ("acme", ROLE_ADMIN, big, "allowed"), ("acme", ROLE_READER, big, "PermissionDenied"),
        ("acme", ROLE_READER, small, "allowed"), ("bank", ROLE_ADMIN, small, "PermissionDenied"),
    ]  # fmt: skip
    for tenant, role, use, expected in rows:
        caller = scope(role, tenant)
        assert outcome(lambda use=use, caller=caller: policy.check(use, caller, FREE)) == expected
    assert outcome(lambda: policy.check(big, scope(ROLE_ADMIN), hr)) == "FailedPrecondition"


def test_limits_of_several_rules_are_the_least() -> None:
    policy = egress(
        limits={"max_tokens": 4000},
        rules=[
            {"roles": ["reader"], "limits": {"max_tokens": 500, "temperature": 0.5}},
            {"tenants": ["acme"], "limits": {"max_tokens": 800, "token_budget": 2000}},
        ],
    )
    assert policy.limits(scope()) == Limits(max_tokens=500, temperature=0.5, token_budget=2000)
    assert policy.limits(scope(ROLE_ADMIN)) == Limits(max_tokens=800, token_budget=2000)
    assert policy.limits(scope(ROLE_ADMIN, "other")) == policy.deployment_limits == Limits(max_tokens=4000)


def test_a_file_may_allow_more_than_the_usual_and_a_rule_only_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text(
        '[limits]\nmax_tokens = 50000\n[[rules]]\nroles = ["reader"]\n'
        "limits = { max_tokens = 60000, token_budget = 90000 }"
    )
    monkeypatch.setenv("FOOTNOTE_PROVIDER_POLICY_FILE", str(tmp_path / "policy.toml"))
    policy = Egress.load()
    assert policy.deployment_limits == Limits(max_tokens=50_000)
    assert policy.limits(scope()) == Limits(max_tokens=50_000)
    limits.check_generation(GenerationSettings(max_tokens=50_000), policy.limits(scope()))
    with pytest.raises(InvalidArgument, match=r"from 1 to 50000, which the operator alone can raise: limits\.max_"):
        limits.check_generation(GenerationSettings(max_tokens=50_001), policy.limits(scope()))


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("prompt", PromptSettings(system_prompt="x" * 8001), "system_prompt must have at most 8000 characters"),
        ("prompt", PromptSettings(token_budget=32_001), "token_budget must be from 100 to 32000"),
        ("prompt", PromptSettings(token_budget=99), "token_budget must be from 100 to 32000"),
        ("generation", GenerationSettings(max_tokens=100_000), "max_tokens must be from 1 to 16384"),
        ("generation", GenerationSettings(max_tokens=-1), "max_tokens must be from 1"),
        ("generation", GenerationSettings(temperature=2.1), "temperature must be from 0 to 2"),
        ("generation", GenerationSettings(temperature=float("nan")), "temperature must be from 0 to 2"),
        ("generation", GenerationSettings(stop=StringList(values=["x"] * 17)), "stop must be at most 16 texts"),
        (
            "generation",
            GenerationSettings(stop=StringList(values=["x" * 201])),
            "stop must be texts of at most 200 characters",
        ),
        ("generation", GenerationSettings(model="m" * 301), "model must have at most 300 characters"),
        ("generation", GenerationSettings(provider="p" * 101), "provider must have at most 100 characters"),
        ("rerank", RerankSettings(top=1001), "top must be from 0 to 1000"),
        ("rerank", RerankSettings(top=-1), "top must be from 0 to 1000"),
    ],
)
def test_ranges(name: str, settings: object, words: str) -> None:
    check = {
        "prompt": partial(limits.check_prompt, limits=Limits()),
        "generation": partial(limits.check_generation, limits=Limits()),
        "rerank": limits.check_rerank,
    }[name]
    with pytest.raises(InvalidArgument, match=words) as caught:
        check(settings)  # type: ignore[operator]
    assert caught.value.violations


def test_settings_of_providers_are_not_endless() -> None:
    generation = GenerationSettings()
    generation.settings.update({"x": "y" * 20_000})
    with pytest.raises(InvalidArgument, match="settings must be at most 16 KiB"):
        limits.check_generation(generation, Limits())


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:11434/v1", True), ("http://localhost/v1", True), ("http://[::1]:80/", True),
        ("http://127.9.9.9", True), ("https://api.openai.com/v1", False), ("http://10.0.0.1", False), ("", False),
        ("http://127.0.0.1@evil.example/", False), ("http://evil.example/127.0.0.1", False), ("nonsense", False),
        ("http://localhost.evil.example", False), ("http://0.0.0.0", False), ("http://2130706433", False),
        ("http://gpu.internal:8000/v1", True), ("http://[broken", False), ("http://127.0.0.1.nip.io", False),
    ],
)  # fmt: skip
def test_what_is_on_this_machine(url: str, here: bool) -> None:
    assert stays_here(url, ["*.internal"]) is here


def test_every_embedding_provider_is_placed_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def local(provider: str) -> bool:
        return registry.use_of(EmbeddingSettings(provider=provider, model="m"), Egress()).local

    assert {name: local(name) for name in registry.registrations()} == {
        "builtin": True, "e5": True, "onnx": True, "openai": False, "ollama": True, "gemini": False, "vllm": True,
        "tei": True,
        "none": True,
    }  # fmt: skip
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("FOOTNOTE_OLLAMA_BASE_URL", "http://gpu.example:11434/v1")
    assert (local("openai"), local("ollama"), local("nobody")) == (True, False, False)


def test_the_policy_comes_from_a_file_and_from_variables_and_both_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = tmp_path / "policy.toml"
    toml.write_text(
        """
        local_hosts = ["gpu.internal"]
        [allow]
        model = ["builtin", "openai:gpt-5*"]
        [[rules]]
        tenants = ["acme"]
        roles = ["reader"]
        limits = { max_tokens = 700 }
        """
    )
    monkeypatch.setenv("FOOTNOTE_PROVIDER_POLICY_FILE", str(toml))
    monkeypatch.setenv("FOOTNOTE_ALLOWED_MODEL_PROVIDERS", "builtin, openai:*-mini")
    found = Egress.load()
    found.check(AWAY, scope(), FREE)
    for model in ("gpt-5", "gpt-4o-mini"):
        with pytest.raises(PermissionDenied):
            found.check(Use(Kind.MODEL, "openai", model, False), scope(), FREE)
    assert found.limits(scope()).max_tokens == 700
    assert found.stays_here("http://gpu.internal/v1")
    monkeypatch.setenv("FOOTNOTE_LOCAL_ONLY", "true")
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_LOCAL_ONLY"):
        Egress.load().check(AWAY, scope(), FREE)
    same = tmp_path / "policy.json"
    same.write_text(json.dumps({"limits": {"system_prompt": 10}}))
    monkeypatch.setenv("FOOTNOTE_PROVIDER_POLICY_FILE", str(same))
    assert Egress.load().limits(scope()).system_prompt == 10


@pytest.mark.parametrize(
    "text", ["[allow", "allow = 3", "[allow]\nmodels = []", "surprise = true", "[limits]\nmax_tokens = -1"]
)
def test_a_wrong_policy_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    monkeypatch.setenv("FOOTNOTE_PROVIDER_POLICY_FILE", str(path))
    with pytest.raises(FailedPrecondition, match=r"policy\.toml"):
        Egress.load()
    path.unlink()
    with pytest.raises(FailedPrecondition, match="No such file"):
        Egress.load()


def test_callers_name_no_address_path_variable_or_key() -> None:
    for name in (
        "url", "base_url", "uri", "endpoint", "api_endpoint", "host", "address", "proxy", "path", "model_path", "file",
        "folder", "cache_dir", "env", "api_key_env", "environment_variable", "key", "api_key", "secret", "password",
        "credentials", "headers", "extra_headers", "token", "access_token",
    ):  # fmt: skip
        assert callers_own({name: "x"}), name
        assert registry.validate("openai", {name: "http://169.254.169.254/"}), name
    ours = set(itertools.chain.from_iterable(r.settings.model_fields for r in registry.registrations().values()))
    assert ours
    assert (
        callers_own(dict.fromkeys(ours | {"max_tokens", "weight", "balance", "form", "provider", "threads"}, 1)) == []
    )

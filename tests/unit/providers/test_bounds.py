"""The bounds of texts from several collections, and which callers may choose a provider for all of them."""

from __future__ import annotations

from itertools import product

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, EmbeddingSettings, GenerationSettings
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, Role
from footnote_kit.errors import PermissionDenied
from footnote_providers.egress.egress import Egress, Use, of_collection, together
from footnote_providers.egress.policy import Kind, Policy

AWAY = Use(Kind.MODEL, "openai", "gpt-5-mini", local=False)


def collection(name: str, *, allows: bool = False, **settings: bool) -> Collection:
    made = CollectionSettings(embedding=EmbeddingSettings(provider="builtin"), **settings)  # type: ignore[arg-type]
    if allows:
        made.generation.CopyFrom(GenerationSettings(provider="openai", model="gpt-5-mini"))
    return Collection(name=name, id=f"id-{name}", settings=made)


def may_choose(egress: Egress, bounds: TextBounds, role: Role.ValueType = ROLE_READER) -> bool:
    try:
        egress.check_choice(AWAY, Scope(tenant_id="t", user_id="u", roles=[role]), [], bounds)
    except PermissionDenied:
        return False
    return True


@pytest.mark.parametrize("allowing", list(product([False, True], repeat=3)))
def test_a_choice_is_allowed_by_every_collection_or_not_at_all(allowing: tuple[bool, ...]) -> None:
    names = ("staff", "public", "hr")
    several = [collection(name, allows=allows) for name, allows in zip(names, allowing, strict=True)]
    bounds = together(map(of_collection, several))
    assert may_choose(Egress(), bounds) == all(allowing)
    assert may_choose(Egress(), bounds, ROLE_ADMIN)
    named = ProviderChoice(kind=PROVIDER_KIND_MODEL, provider="openai", model="gpt-5-mini")
    assert (named in bounds.configured) == all(allowing)
    # In whatever order, once or twice, and put together in steps.
    again = together([of_collection(several[2]), together(map(of_collection, several[:2])), bounds])
    assert may_choose(Egress(), again) == all(allowing)
    assert len(again.each) == 3


@pytest.mark.parametrize(("patterns", "allowed"), [(["public"], False), (["public", "staff"], True), (["*"], True)])
def test_a_rule_lets_choose_for_the_collections_that_it_names(patterns: list[str], allowed: bool) -> None:
    policy = Egress([Policy.model_validate({"rules": [{"collections": patterns, "choose": {"model": ["openai"]}}]})])
    both = together(of_collection(collection(name)) for name in ("staff", "public"))
    assert may_choose(policy, both) == allowed
    assert may_choose(policy, of_collection(collection("public")))


def test_several_keep_their_texts_when_one_does() -> None:
    kept = of_collection(collection("hr", local_only=True))
    bounds = together([of_collection(collection("free")), kept])
    assert (bounds.local_only, bounds.because) == (True, "the collection 'hr'")
    mark = TextBounds(local_only=True, because="this conversation")
    marked = together([of_collection(collection("free")), mark])
    assert (marked.local_only, marked.because, list(marked.collections)) == (
        True,
        "this conversation",
        ["free", "id-free"],
    )
    assert together([]) == together([TextBounds()]) == TextBounds()
    assert together([kept, TextBounds()]) == kept


def test_a_message_of_no_collection_takes_no_choice_away() -> None:
    mark = TextBounds(local_only=True, because="this conversation")
    assert may_choose(Egress(), together([of_collection(collection("public", allows=True)), mark]))

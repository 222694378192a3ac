"""One merge rule for every setting, by presence; several collections count as one where they agree."""

from typing import Any

import pytest
from footnote.types.v1 import bounds_pb2
from footnote.types.v1.collection_pb2 import (
    Collection,
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
    RetrievalSettings,
    StringList,
)
from footnote_edge.asking.precedence import effective, shared_settings
from footnote_kit.collection_settings import GROUPS, SETTINGS, built_in, overlay, paths, put, shared
from footnote_kit.deployment_settings import field_of
from footnote_kit.validation import check
from google.protobuf.message import Message


def test_what_is_present_counts_and_the_rest_is_inherited() -> None:
    far = GenerationSettings(model="m", max_tokens=5, temperature=0.5, stop=StringList(values=["a", "b"]))
    result = overlay(GenerationSettings(max_tokens=9, temperature=0.0, stop=StringList(values=["c"])), far)
    assert (result.model, result.max_tokens, result.temperature) == ("m", 9, 0.0)
    assert list(result.stop.values) == ["c"]
    assert far.max_tokens == 5


OVERRIDABLE = [one for one in SETTINGS if one.by_request and field_of(one.path).enum_type is None]


@pytest.mark.parametrize("setting", OVERRIDABLE, ids=lambda one: one.path)
def test_a_request_switches_off_what_a_collection_switches_on(setting: Any) -> None:
    """Zero, false, empty text, empty list, empty Struct: present, they count."""
    field = field_of(setting.path)
    value = field.message_type.name if field.message_type else ""
    off: Any = {"StringList": [], "Struct": {}, "Duration": 0}.get(value)
    if off is None:
        off = "" if field.type == field.TYPE_STRING else False if field.type == field.TYPE_BOOL else 0
    kind = GROUPS[setting.group]
    request, collection = kind(), kind()
    on: Any = {"StringList": ["x"], "Struct": {"x": 1}, "Duration": 5}.get(value)
    put(request, setting.name, off)
    put(collection, setting.name, on or ("x" if field.type == field.TYPE_STRING else 1))
    assert field.has_presence, "it could not be switched off"
    assert overlay(request, collection) == request
    assert overlay(kind(), collection) == collection


def test_structs_are_replaced_whole_and_messages_mixed() -> None:
    far, near = CollectionSettings(), CollectionSettings()
    far.generation.settings.update({"a": 1})
    far.generation.model = "m"
    far.prompt.locale = "fr"
    near.generation.settings.update({"b": 2})
    result = overlay(near, far)
    assert dict(result.generation.settings) == {"b": 2}
    assert (result.generation.model, result.prompt.locale) == ("m", "fr")


def _of(settings: CollectionSettings) -> Collection:
    return Collection(settings=settings)


def test_of_several_collections_what_all_say_alike_counts() -> None:
    one = CollectionSettings(prompt=PromptSettings(locale="fr"), generation=GenerationSettings(model="a", max_tokens=9))
    two = CollectionSettings(prompt=PromptSettings(locale="fr"), generation=GenerationSettings(model="b", max_tokens=9))
    both = shared_settings([_of(one), _of(two)])
    assert both.prompt.locale == "fr"
    assert both.generation == GenerationSettings(max_tokens=9)
    assert shared_settings([]) == CollectionSettings()
    assert shared_settings([_of(one)]) == one


def test_what_only_one_of_several_says_does_not_count() -> None:
    said = CollectionSettings(retrieval=RetrievalSettings(limit=9, min_score=0))
    assert shared([said, CollectionSettings()]) == CollectionSettings(retrieval=RetrievalSettings())


def test_provider_and_what_belongs_to_it_count_together_or_not_at_all() -> None:
    one, two = (GenerationSettings(provider="openai", model=name, temperature=0.5) for name in ("a", "b"))
    assert shared([one, two]) == GenerationSettings(temperature=0.5)


def test_the_strictest_of_several_counts() -> None:
    strict = CollectionSettings(generation=GenerationSettings(strict=True), local_only=True)
    for several in ([strict, CollectionSettings()], [CollectionSettings(local_only=False), strict]):
        both = shared(several)
        assert both.local_only
        assert both.generation.strict


def test_another_provider_leaves_the_collections_model_and_settings_of_its_own_behind() -> None:
    collection = CollectionSettings(
        generation=GenerationSettings(provider="openai", model="gpt", temperature=0.3, strict=True),
        rerank=RerankSettings(provider="mmr", model="x", top=3),
    )
    _, rerank, model = effective(
        PromptSettings(), RerankSettings(provider="none"), GenerationSettings(provider="builtin"), collection
    )
    # What is no provider's own is inherited: to name another model must not switch strictness off.
    assert model == GenerationSettings(provider="builtin", temperature=0.3, strict=True)
    assert rerank == RerankSettings(provider="none", top=3)
    _, rerank, model = effective(PromptSettings(), RerankSettings(), GenerationSettings(max_tokens=3), collection)
    assert (model.provider, model.model, model.max_tokens) == ("openai", "gpt", 3)
    assert (rerank.provider, rerank.top) == ("mmr", 3)


def test_the_table_has_every_setting_of_the_contract_and_no_other() -> None:
    assert sorted(one.path for one in SETTINGS) == sorted(paths())


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.path)
def test_what_is_built_in_stands_in_the_contract_and_within_its_bounds(setting: Any) -> None:
    check(built_in())
    field = field_of(setting.path)
    number = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_DOUBLE)
    if number or (field.message_type is not None and field.message_type.name == "Duration"):
        bounds = field.GetOptions().Extensions[bounds_pb2.bounds]
        assert bounds.HasField("min"), "a number without a range"
        assert bounds.HasField("max"), "a number without a range"


def test_a_message_of_settings_is_never_mistaken_for_a_value() -> None:
    assert all(isinstance(kind(), Message) for kind in GROUPS.values())

from footnote.types.v1.collection_pb2 import (
    Collection,
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
)
from footnote_edge.precedence import effective, overlay, shared_settings


def test_what_is_set_above_counts_and_the_rest_stays() -> None:
    base = GenerationSettings(model="m", max_tokens=5, temperature=0.5, stop=["a", "b"])
    top = GenerationSettings(max_tokens=9, temperature=0.0, stop=["c"])
    result = overlay(base, top)
    assert (result.model, result.max_tokens, result.temperature) == ("m", 9, 0.0)
    assert list(result.stop) == ["c"]
    assert base.max_tokens == 5


def test_an_optional_zero_counts_as_set() -> None:
    assert overlay(PromptSettings(history_messages=8), PromptSettings(history_messages=0)).history_messages == 0


def test_structs_are_replaced_whole_and_messages_mixed() -> None:
    base, top = CollectionSettings(), CollectionSettings()
    base.generation.settings.update({"a": 1})
    base.generation.model = "m"
    base.prompt.locale = "fr"
    top.generation.settings.update({"b": 2})
    result = overlay(base, top)
    assert dict(result.generation.settings) == {"b": 2}
    assert (result.generation.model, result.prompt.locale) == ("m", "fr")


def test_of_several_collections_only_what_all_have_counts() -> None:
    one = CollectionSettings(prompt=PromptSettings(locale="fr"), generation=GenerationSettings(model="a"))
    two = CollectionSettings(prompt=PromptSettings(locale="fr"), generation=GenerationSettings(model="b"))
    shared = shared_settings([Collection(settings=one), Collection(settings=two)])
    assert shared.prompt.locale == "fr"
    assert shared.generation == GenerationSettings()
    assert shared_settings([]) == CollectionSettings()
    alone = shared_settings([Collection(settings=one)])
    assert (alone.prompt, alone.generation) == (one.prompt, one.generation)


def test_another_provider_leaves_the_collections_settings_of_its_own_behind() -> None:
    collection = CollectionSettings(
        generation=GenerationSettings(provider="openai", model="gpt", temperature=0.3),
        rerank=RerankSettings(provider="mmr", top=3),
    )
    _, rerank, model = effective(
        PromptSettings(), RerankSettings(provider="none"), GenerationSettings(provider="builtin"), collection
    )
    assert model == GenerationSettings(provider="builtin")
    assert rerank == RerankSettings(provider="none")
    _, rerank, model = effective(PromptSettings(), RerankSettings(), GenerationSettings(max_tokens=3), collection)
    assert (model.provider, model.max_tokens) == ("openai", 3)
    assert rerank.top == 3

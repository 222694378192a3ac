"""Registrations of every kind: what is listed, what is wrong with settings, and how other packages join."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pytest
from footnote_kit import plugins
from footnote_kit.errors import InvalidArgument
from footnote_kit.registration import Kind, NoSettings, Registration, Registry, Wanted
from footnote_kit.settings_words import problems_of, read
from google.protobuf import json_format
from pydantic import BaseModel, ConfigDict, Field, field_validator

GROUPS = {
    Kind.EMBEDDING: "footnote.embedding_providers",
    Kind.MODEL: "footnote.models",
    Kind.RERANKER: "footnote.rerankers",
    Kind.VERIFIER: "footnote.verifiers",
    Kind.STORE: "footnote.stores",
}


class Settings(BaseModel):
    weight: float = Field(default=0.5, ge=0, le=1)
    size: int = Field(default=3, ge=1, le=9)
    least: int = Field(default=3, ge=1)
    above: float = Field(default=3, gt=0)
    form: Literal["a", "b"] = "a"
    prefix: str = Field(default="", max_length=5)
    both: bool = False
    names: list[int] = []
    even: int = 2

    @field_validator("even")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even.")
        return value


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Needy(BaseModel):
    name: str


def registration(kind: Kind = Kind.RERANKER, id: str = "ours", **values: Any) -> Registration[Settings, Any]:
    return Registration(
        kind=kind, id=id, display_name=id.title(), settings=Settings, make=lambda wanted: wanted, default_model="own",
        **values,
    )  # fmt: skip


RIGHT = [
    {}, {"weight": 0.5, "size": 3.0, "form": "b"}, {"weight": 1.0}, {"weight": 0}, {"names": [1.0, 2]},
    {"both": True, "prefix": "12345"},
]  # fmt: skip
WRONG = {
    "weight must be from 0 to 1.": [{"weight": 2.0}, {"weight": -1}, {"weight": float("nan")}],
    "weight must be a number from 0 to 1.": [{"weight": True}, {"weight": "0.5"}, {"weight": None}, {"weight": []}],
    "size must be a whole number from 1 to 9.": [{"size": 1.5}, {"size": "3"}, {"size": False}],
    "size must be from 1 to 9.": [{"size": 0.0}, {"size": 10}],
    "least must be at least 1.": [{"least": 0}],
    "least must be a whole number, at least 1.": [{"least": "many"}],
    "above must be more than 0.": [{"above": 0}],
    "form must be one of a, b.": [{"form": "c"}, {"form": 1}, {"form": None}],
    "prefix must be text.": [{"prefix": 3.0}, {"prefix": {}}],
    "prefix must have at most 5 characters.": [{"prefix": "123456"}],
    "both must be true or false.": [{"both": 1.0}, {"both": "yes"}],
    "names must be a list.": [{"names": "1"}],
    "names.1 must be a whole number.": [{"names": [1, "x"]}],
    "even: must be even.": [{"even": 3}],
    f"colour is not a setting of this provider; there are {', '.join(Settings.model_fields)}.": [{"colour": 1}],
    "base_url is set for the deployment, by its environment, never by a caller or a collection.": [{"base_url": "x"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "values"), [(sentence, one) for sentence, several in WRONG.items() for one in several]
)
def test_what_is_wrong_is_said_with_the_field_and_what_is_allowed(sentence: str, values: dict[str, object]) -> None:
    registry = Registry(Kind.RERANKER, [registration()])
    assert registry.problems("ours", values) == [sentence]
    with pytest.raises(InvalidArgument) as caught:
        registry.require("ours", values)
    assert (caught.value.message, caught.value.reason) == (sentence, "PROVIDER_INVALID")


@pytest.mark.parametrize("values", RIGHT)
def test_what_is_right_reaches_the_factory(values: dict[str, object]) -> None:
    registry = Registry(Kind.RERANKER, [registration()])
    assert registry.problems("ours", values) == []
    made = registry.require("ours", values).build("", values, dimensions=7)
    assert made == Wanted("own", Settings(**values), 7)  # type: ignore[arg-type]
    assert registry["ours"].build("named").model == "named"


def test_all_that_is_wrong_is_said_at_once() -> None:
    wrong = {"weight": 3, "size": "x", "api_key": "sk-1", "colour": "red"}
    assert len(Registry(Kind.MODEL, [registration(Kind.MODEL)]).problems("ours", wrong)) == 4


def test_settings_that_take_everything_and_settings_that_need_something() -> None:
    assert problems_of(Open, {"anything": {"at": ["all"]}}) == []
    assert problems_of(Needy, {}) == ["name must be given."]
    assert problems_of(NoSettings, {"x": 1}) == ["x is not a setting of this provider; it has none."]
    assert read(Open, {"n": 3.0}).model_extra == {"n": 3}


def test_a_description_carries_the_schema() -> None:
    shown = registration(capabilities=("reranking",), max_batch=7).description()
    schema = json_format.MessageToDict(shown.settings_schema)
    assert schema["properties"]["form"]["enum"] == ["a", "b"]
    assert (shown.id, shown.display_name, shown.default_model, shown.max_batch) == ("ours", "Ours", "own", 7)
    assert list(shown.capabilities) == ["reranking"]


@pytest.mark.parametrize("kind", Kind)
def test_other_packages_join_by_entry_point_and_replace_nothing(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    another = next(other for other in Kind if other is not kind)
    ours = registration(kind, builtin=True)
    added = {
        "theirs": registration(kind, "theirs", builtin=True),
        "impostor": replace(ours, display_name="Impostor"),
        "kept": registration(kind, "kept"),
        "misplaced": registration(another, "misplaced"),
        "wrong": object(),
    }
    monkeypatch.setattr(EntryPoint, "load", lambda self: added[self.name])
    monkeypatch.setattr(
        plugins,
        "entry_points",
        lambda group: [EntryPoint(name, "x:y", group) for name in added if group == GROUPS[kind]],
    )
    registry = Registry(kind, [ours], taken=["kept"])
    assert list(registry) == ["ours", "theirs"]
    assert registry["ours"].display_name == "Ours"
    # What everybody may choose is for Footnote to say, not for a package of itself.
    assert [one.builtin for one in registry.values()] == [True, False]
    [problem] = registry.problems("nobody")
    assert problem.endswith("'nobody' is registered; there are ours, theirs.")
    assert [one.id for one in registry.descriptions()] == ["ours", "theirs"]

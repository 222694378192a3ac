"""Descriptions, problems of settings and health, as every registry of providers answers with."""

import asyncio
from collections.abc import Mapping
from typing import Any

from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL
from footnote_kit import provider_calls
from footnote_kit.errors import Unavailable
from google.protobuf import json_format

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "form": {"type": "string", "enum": ["a", "b"]},
        "weight": {"type": "number", "minimum": 0, "maximum": 1},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
    },
}


def test_a_description_carries_the_schema() -> None:
    provider = provider_calls.description(PROVIDER_KIND_MODEL, "x", "X", ["chat"], SCHEMA, "m", 7)
    assert json_format.MessageToDict(provider.settings_schema)["properties"]["form"]["enum"] == ["a", "b"]
    assert (provider.id, provider.default_model, provider.max_batch) == ("x", "m", 7)


def test_wrong_settings_are_said_in_a_sentence_each() -> None:
    assert provider_calls.problems(SCHEMA, {"form": "a", "weight": 0.5, "size": 3.0}) == []
    assert provider_calls.problems(SCHEMA, {"form": "c", "weight": 2, "size": 1.5, "colour": 1}) == [
        "form must be one of a, b.",
        "weight must be from 0 to 1.",
        "size must be a whole number.",
        "colour is not a setting of this provider.",
    ]
    assert provider_calls.problems(SCHEMA, {"form": 1, "weight": True}) == [
        "form must be text.",
        "weight must be a number.",
    ]


async def test_health_tells_details_failures_and_silence() -> None:
    async def well() -> Mapping[str, Any]:
        return {"models": 3}

    async def down() -> Mapping[str, Any]:
        raise Unavailable("it is down")

    async def silent() -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def check(ask: Any) -> Any:
        return await provider_calls.health(PROVIDER_KIND_MODEL, "x", ask, 0.05)

    good = await check(well)
    assert (good.healthy, good.error, good.details["models"]) == (True, "", 3)
    assert good.check_time.seconds > 0
    assert [(one.healthy, one.error) for one in (await check(down), await check(silent))] == [
        (False, "it is down"),
        (False, "No answer within 0.05 s."),
    ]

"""Health, as every registry of providers answers with."""

import asyncio
from collections.abc import Mapping
from typing import Any

from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL
from footnote_kit import registration
from footnote_kit.errors import Unavailable


async def test_health_tells_details_failures_and_silence() -> None:
    async def well() -> Mapping[str, Any]:
        return {"models": 3}

    async def down() -> Mapping[str, Any]:
        raise Unavailable("it is down")

    async def silent() -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def check(ask: Any) -> Any:
        return await registration.health(PROVIDER_KIND_MODEL, "x", ask, 0.05)

    good = await check(well)
    assert (good.healthy, good.error, good.details["models"]) == (True, "", 3)
    assert good.check_time.seconds > 0
    assert [(one.healthy, one.error) for one in (await check(down), await check(silent))] == [
        (False, "it is down"),
        (False, "No answer within 0.05 s."),
    ]

"""A `Caller` of the fault harness that returns given lists, in place of a deployment."""

from __future__ import annotations

from typing import Any

from support.harness.caller import Caller


class Listing(Caller):
    """Answers each list from `lists`, by the name of its field."""

    def __init__(self, **lists: list[Any]) -> None:
        self._lists = {"collections": [], **lists}

    async def pages(self, method: str, request: Any, items: str) -> list[Any]:
        """Return a list."""
        return self._lists[items]

"""The epochs in which a response holds, in its trailing metadata.

Services of one deployment cache responses by them. No contract has them: a third-party stage sends none, and its
callers ask each time.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from footnote_kit.handler_context import Call

EPOCH_KEY = "x-footnote-epoch"
COLLECTIONS_EPOCH_KEY = "x-footnote-collections-epoch"

Response = TypeVar("Response", covariant=True)


@dataclass(frozen=True, slots=True)
class Epochs:
    """Names of epochs as `footnote_kit.epochs` has them; "" for none."""

    epoch: str = ""
    collections: str = ""


class EpochCall(Awaitable[Response], Protocol[Response]):
    """A call to a stage, as its stub returns it."""

    async def trailing_metadata(self) -> Any:
        """Return the metadata that follows the response."""


def send(context: Call, epochs: Epochs) -> None:
    """Send the epochs in which the response of this call holds, beside the metadata that is set already."""
    said = ((EPOCH_KEY, epochs.epoch), (COLLECTIONS_EPOCH_KEY, epochs.collections))
    context.set_trailing_metadata((*(context.trailing_metadata() or ()), *(pair for pair in said if pair[1])))


async def received(call: EpochCall[Response]) -> tuple[Response, Epochs]:
    """Return a call's response, and the epochs in which it holds."""
    response = await call
    sent = {key: value for key, value in await call.trailing_metadata() or () if isinstance(value, str)}
    return response, Epochs(sent.get(EPOCH_KEY, ""), sent.get(COLLECTIONS_EPOCH_KEY, ""))

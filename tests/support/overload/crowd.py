"""One process of callers, `python -m support.overload.crowd`: all ask at once, or one asks now and then.

What it is to do comes on stdin as JSON, what became of it goes to stdout. It begins when a second line comes.
"""

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError, ResourceExhausted

DEADLINE = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended, after how many seconds, its message, and the retry delay if it was refused."""

    ended: str
    seconds: float
    said: str = ""
    retry_after: float | None = None


async def ask(edge: EdgeStub, number: int) -> Outcome:
    """Ask one question."""
    began = time.monotonic()
    try:
        last = None
        async for event in edge.Ask(AskRequest(question=f"What is fact {number % 20}?"), timeout=DEADLINE):
            last = event
    except FootnoteError as error:
        ended = f"refused ({error.reason})" if isinstance(error, ResourceExhausted) else error.code
        return Outcome(ended, time.monotonic() - began, error.message, error.retry_after)
    ended = "answered" if last is not None and last.HasField("completed") else "no end"
    return Outcome(ended, time.monotonic() - began)


async def crowd(address: str, callers: int) -> list[Outcome]:
    """Ask all at once."""
    async with open_channel(address, peer="edge") as channel:
        edge = EdgeStub(channel)
        return await asyncio.gather(*(ask(edge, one) for one in range(callers)))


async def probe(address: str, every: float, seconds: float) -> list[Outcome]:
    """Ask at a fixed interval over an open connection, even if the last call has not ended."""
    async with AsyncExitStack() as stack:
        edge = EdgeStub(await stack.enter_async_context(open_channel(address, peer="edge")))
        begun: list[asyncio.Task[Outcome]] = []
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            begun.append(asyncio.create_task(ask(edge, len(begun))))
            await asyncio.sleep(every)
        return await asyncio.gather(*begun)


def main() -> None:
    """Do what is asked for."""
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    print("here", flush=True)
    sys.stdin.readline()
    outcomes = asyncio.run(probe(**told["probe"]) if "probe" in told else crowd(**told["crowd"]))
    print(json.dumps([asdict(one) for one in outcomes]))


if __name__ == "__main__":
    main()

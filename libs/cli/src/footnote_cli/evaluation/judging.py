"""Judges statements with the real generation service, with one verifier or none."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.reasons_pb2 import ClaimReason
from footnote_kit.degradations import word
from footnote_kit.settings import KitSettings

from footnote_cli.evaluation.deployment import SCOPE
from footnote_cli.evaluation.statements import Statement
from footnote_cli.evaluation.together import together
from footnote_cli.evaluation.verdicts import Verdict
from footnote_cli.supervise import Supervisor
from footnote_cli.targets import parse

if TYPE_CHECKING:
    from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceAsyncStub

RULES = "rules"
"""The name for no reader."""
_AT_ONCE = 4  # statements per call, so that a model reads several together
_IN_FLIGHT = 4
_VARIABLE = "FOOTNOTE_GENERATION_VERIFIER"


@dataclass(frozen=True, slots=True)
class Judged:
    """Verdicts by statement id, the reader's usage, and counts of problems by description."""

    verdicts: dict[str, Verdict]
    usage: types.Usage
    degraded: dict[str, int]


async def judge(statements: Sequence[Statement], reader: str, on_done: Callable[[int], None]) -> Judged:
    """Judge statements by the rules, then by a reader named as in FOOTNOTE_GENERATION_VERIFIER."""
    verdicts: dict[str, Verdict] = {}
    usage = types.Usage()
    degraded: Counter[str] = Counter()
    gate = asyncio.Semaphore(_IN_FLIGHT)
    async with _service("" if reader == RULES else reader) as stub:

        async def some(chosen: Sequence[Statement]) -> None:
            async with gate:
                response = await stub.VerifyStatements(_request(chosen, reader))
            for one, claim in zip(chosen, response.claims, strict=True):
                name = types.Verdict.Name(claim.support).removeprefix("VERDICT_")
                reason = ClaimReason.Name(claim.reason).removeprefix("CLAIM_REASON_") if claim.reason else ""
                verdicts[one.id] = Verdict(name, claim.score, reason)
            usage.prompt_tokens += response.usage.prompt_tokens
            usage.completion_tokens += response.usage.completion_tokens
            degraded.update(f"{word(one)}: {one.detail}" for one in response.degradations)
            on_done(len(chosen))

        await together(some(statements[start : start + _AT_ONCE]) for start in range(0, len(statements), _AT_ONCE))
    return Judged(verdicts, usage, dict(degraded))


def _request(statements: Sequence[Statement], reader: str) -> pb.VerifyStatementsRequest:
    request = pb.VerifyStatementsRequest(
        scope=SCOPE, bounds=TextBounds(), settings=GenerationSettings(second_opinion=reader != RULES)
    )
    for number, one in enumerate(statements, 1):
        request.sources.add().CopyFrom(one.source)
        request.sources[-1].number = number
        request.statements.add(text=one.text, sources=[number])
    return request


@asynccontextmanager
async def _service(verifier: str) -> AsyncIterator[GenerationServiceAsyncStub]:
    """Start generation alone in a temporary folder, on a free port, with this verifier; restores its variable."""
    before = os.environ.get(_VARIABLE)
    async with AsyncExitStack() as stack:
        stack.callback(_set, before)
        _set(verifier or None)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="footnote-eval-"))
        settings = KitSettings(grace_seconds=1.0, call_timeout=120.0, stream_timeout=600.0)
        supervisor = Supervisor(parse("generation"), settings, Path(folder), 0)
        stack.push_async_callback(supervisor.stop)
        await supervisor.start()
        await supervisor.wait_ready()
        yield GenerationServiceStub(supervisor.runtime.channel("generation"))


def _set(value: str | None) -> None:
    if value is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = value

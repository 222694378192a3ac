"""Every RPC of edge while a stage is stopped: answered, degraded or refused in words, before its caller's deadline.

`make test-all` stops one stage; `FOOTNOTE_FROZEN=all` stops, slows down and has flap each of them, and prints a table.
"""

import asyncio
import base64
import os
from pathlib import Path

import grpc
import pytest
from footnote_kit.edge import METHODS
from support.deployment import Deployment, deployment
from support.frozen import FAULTS
from support.frozen_rpcs import Ended, Everything

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(1800)]

STAGES = ("indexing", "ingestion", "retrieval", "augmentation", "generation")
ALL = os.environ.get("FOOTNOTE_FROZEN") == "all"
CASES = [(kind, stage) for kind in FAULTS for stage in STAGES] if ALL else [("frozen", "indexing")]
IN_TIME = 45.0
"""Seconds; see `test_frozen`. All RPCs are called at once."""
USUALLY = {
    "CreateKey": "KEYS_OFF",
    "ListKeys": "KEYS_OFF",
    "RevokeKey": "KEYS_OFF",
    "CancelDocument": "ILLEGAL_STATE",
    "CancelOperation": "ILLEGAL_STATE",
    "GetSharedConversation": "CONVERSATION_NOT_FOUND",
    **dict.fromkeys(("GetEvaluationRun", "DeleteEvaluationRun"), "EVALUATION_RUN_NOT_FOUND"),
}
"""RPCs that are refused even when nothing is wrong: there are no keys, runs or shares, and operations have ended."""
WORDS = {"UNAVAILABLE", "RESOURCE_EXHAUSTED"}


def show(kind: str, stage: str, table: dict[str, Ended]) -> dict[str, Ended]:
    """Print how each RPC ended."""
    for name, ended in table.items():
        print(f"| {kind} | {stage} | {name} | {ended} |", flush=True)
    return table


async def look(running: Deployment) -> dict[tuple[str, str], dict[str, Ended]]:
    """Return how each RPC ended, of nothing wrong first."""
    tables: dict[tuple[str, str], dict[str, Ended]] = {}
    async with grpc.aio.insecure_channel(running.address()) as channel:
        everything = Everything(channel)
        await everything.well()
        tables["well", ""] = show("well", "", await everything.call())
        for kind, stage in CASES:
            await everything.well()
            with FAULTS[kind](running.processes[stage].pid):
                tables[kind, stage] = show(kind, stage, await everything.call())
    return tables


def test_each_rpc_ends_in_words_while_a_stage_is_stopped(tmp_path: Path) -> None:
    key = base64.b64encode(os.urandom(32)).decode()
    with deployment(tmp_path, separate=True, env={"FOOTNOTE_EDGE_SOURCE_KEY": key}) as running:
        tables = asyncio.run(look(running))
    usual = tables.pop(("well", ""))
    assert set(usual) == {method.name for method in METHODS}
    refused = {name: one.reason for name, one in usual.items() if one.code != "OK"}
    assert refused == USUALLY
    wrong = [
        (kind, stage, name, str(ended))
        for (kind, stage), table in tables.items()
        for name, ended in table.items()
        if ended.seconds > IN_TIME
        or not (ended.code in ("OK", usual[name].code) or (ended.code in WORDS and ended.reason))
    ]
    assert not wrong, wrong

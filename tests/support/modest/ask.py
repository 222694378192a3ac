"""Asks a running deployment all questions and returns what it answered; run as a program it prints them."""

import asyncio
import sys
import tempfile
from pathlib import Path

from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.types.v1.collection_pb2 import Collection

from support.deployment import deployment
from support.edge_client import EdgeClient, edge_client
from support.modest import CASES, DOCUMENTS, Case


async def upload(edge: EdgeClient) -> None:
    """Put the documents of each language into a collection of that name."""
    for language, documents in DOCUMENTS.items():
        await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=f"modest-{language}")))
        for name, text in documents.items():
            await edge.put(text.encode(), name, f"modest-{language}")


async def answer(edge: EdgeClient, case: Case) -> str:
    """Return the answer's text with each run of white space as one space."""
    completed = await edge.answer(case.question, collections=[f"modest-{case.language}"], use_memory=False)
    return " ".join(completed.answer.text.split())


def missing(case: Case, text: str) -> list[str]:
    """Return what is missing in an answer, or should not be in it."""
    return [f"lacks {one!r}" for one in case.shows if one not in text] + [
        f"says {one!r}" for one in case.never if one in text
    ]


async def _print(address: str) -> None:
    async with edge_client(address) as edge:
        await upload(edge)
        good = 0
        for case in CASES:
            text = await answer(edge, case)
            faults = missing(case, text)
            good += not faults
            sys.stdout.write(f"{'ok ' if not faults else 'BAD'} {case.language} {case.kind:10} {case.question}\n")
            sys.stdout.write(f"      {text}\n" + "".join(f"      - {fault}\n" for fault in faults))
        sys.stdout.write(f"{good} of {len(CASES)}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder, deployment(Path(_folder)) as _running:
        asyncio.run(_print(_running.address()))

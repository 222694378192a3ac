"""Every public RPC once, with a request that is valid, while something is wrong with a stage: what it came to."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import grpc
from footnote_kit.edge import METHODS, EdgeStub
from footnote_kit.errors import FootnoteError
from footnote_kit.status import from_rpc_error
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from support.access.fields import Variant, slots_of, variants_of
from support.access.operations import RULES
from support.access.people import Cast, Person, word
from support.access.targets import Seeder, Target
from support.access.wire import ENDLESS, Operation

DEADLINE = 60.0
WELL_AGAIN = 120.0
NARROWED = {"ReindexDocuments": "document", "Ask": "collection"}
"""What requests must name so that they are about things of their own; the others are sent in the plainest way."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: "OK" or gRPC's name of a refusal with its reason, after how many seconds."""

    code: str
    seconds: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.code}{f' ({self.reason})' if self.reason else ''} | {self.seconds:.1f} s"


def variant_of(method: MethodDescriptor) -> Variant:
    """Return the plainest way to fill a request that names what it must."""
    ways = variants_of(slots_of(Operation("gRPC", method.name, method), {}, {}))
    named = NARROWED.get(method.name)
    return ways[0] if named is None else next(one for one in ways if one.kinds == {named})


class Everything:
    """Things for one round of all RPCs, each that uses something up with one of its own."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._person = Person("anybody", "default", "local", "admin")
        cast = Cast("default", "other", "lab", "crew", False)
        cast.keys[self._person] = "none"  # no caller asks for it
        self._seeder = Seeder(EdgeStub(channel), cast)
        self._targets: dict[str, Target] = {}

    async def seed(self) -> None:
        """Make what one round needs."""
        shared = await self._seeder.make("all", self._person, self._person, private=False)
        shared.names["page_token"] = ""
        # Questions are asked about a collection in which no other call of the round deletes a document.
        apart = replace(await self._seeder.scratch(shared, "collection"), apart=True)
        apart = await self._seeder.scratch(apart, "document")
        self._targets = {method.name: apart if method.name == "Ask" else shared for method in METHODS}
        for method in METHODS:
            if spends := RULES[method.name].spends:
                of = apart if spends == "message" else shared
                self._targets[method.name] = await self._seeder.scratch(of, spends)
        for method in METHODS:
            if variant_of(method).names_new:  # a new collection needs an unused name
                own = self._targets[method.name]
                self._targets[method.name] = replace(own, names={**own.names, "collection": word("new")})

    async def well(self) -> None:
        """Seed as soon as all works again: what was stopped catches up, and its callers notice."""
        async with asyncio.timeout(WELL_AGAIN):
            while True:
                try:
                    await self.seed()
                except (grpc.aio.AioRpcError, AssertionError):
                    await asyncio.sleep(1)
                else:
                    return

    async def call(self) -> dict[str, Ended]:
        """Call every RPC, all at once; return how they ended."""
        ended = await asyncio.gather(*(self._call(method) for method in METHODS))
        return {method.name: one for method, one in zip(METHODS, ended, strict=True)}

    async def _call(self, method: MethodDescriptor) -> Ended:
        names = self._targets[method.name].names
        text = f"{word('new')} {word('new')}".encode()
        body = variant_of(method).build(names, names, text, lambda data: base64.b64encode(data).decode())
        began = time.monotonic()
        try:
            async with asyncio.timeout(DEADLINE + 5):
                await self._once(method, body)
        except TimeoutError:
            return Ended("TIMEOUT", time.monotonic() - began)
        except grpc.aio.AioRpcError as error:
            told: FootnoteError = from_rpc_error(error)
            typed = any(key == "grpc-status-details-bin" for key, _ in error.trailing_metadata() or ())
            return Ended(error.code().name, time.monotonic() - began, told.reason if typed else "")
        return Ended("OK", time.monotonic() - began)

    async def _once(self, method: MethodDescriptor, body: Mapping[str, Any]) -> None:
        request_class = GetMessageClass(method.input_type)
        kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
        stub = getattr(self._channel, kind)(
            f"/{method.containing_service.full_name}/{method.name}",
            request_class.SerializeToString, GetMessageClass(method.output_type).FromString,
        )  # fmt: skip
        request: Any = ParseDict(dict(body), request_class()) if not method.client_streaming else None
        if method.client_streaming:
            request = iter([ParseDict({name: value}, request_class()) for name, value in body.items()])
        call = stub(request, timeout=DEADLINE)
        if method.server_streaming:
            async for _ in call:
                if method.name in ENDLESS:
                    break
        else:
            await call

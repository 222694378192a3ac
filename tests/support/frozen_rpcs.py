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


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: "OK" or gRPC's name of a refusal with its reason, after how many seconds."""

    code: str
    seconds: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.code}{f' ({self.reason})' if self.reason else ''} | {self.seconds:.1f} s"


def variant_of(method: MethodDescriptor) -> Variant:
    """Return the plainest way to fill a request; that of ReindexDocuments names documents, or a collection."""
    ways = variants_of(slots_of(Operation("gRPC", method.name, method), {}, {}))
    return ways[method.name == "ReindexDocuments"]


class Everything:
    """Things for one round of all RPCs, each that uses something up with one of its own."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._person = Person("anybody", "default", "local", "admin")
        cast = Cast("default", "other", "lab", "crew", False)
        cast.keys[self._person] = "none"  # nobody asks for it
        self._seeder = Seeder(EdgeStub(channel), cast)
        self._targets: dict[str, Target] = {}

    async def seed(self) -> None:
        """Make what one round needs."""
        shared = await self._seeder.make("all", self._person, self._person, private=False)
        shared.names["page_token"] = ""
        self._targets = {method.name: shared for method in METHODS}
        spent = [method.name for method in METHODS if RULES[method.name].spends]
        for name in spent:
            self._targets[name] = await self._seeder.scratch(shared, RULES[name].spends)
        for method in METHODS:
            if variant_of(method).names_new:  # a new collection has a name that is not there yet
                own = self._targets[method.name]
                self._targets[method.name] = replace(own, names={**own.names, "collection": word("new")})

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

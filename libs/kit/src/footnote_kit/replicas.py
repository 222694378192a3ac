"""Every replica of a stage by itself, for what one of them cannot tell; channels else take turns among them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc

from footnote_kit.app import Runtime
from footnote_kit.clients import open_channel
from footnote_kit.net import is_loopback
from footnote_kit.settings import PUBLIC

MOST = 64
"""Replicas that are asked; of more the rest are left out."""
_LISTS = ("ipv4:", "ipv6:")


async def addresses(address: str) -> list[str]:
    """Return the address of each replica behind an address as settings give it; that one alone where it is one.

    Names are looked up, as gRPC does; OSError where there is no such name.
    """
    for kind in _LISTS:
        if address.startswith(kind):
            return [kind + one for one in address.removeprefix(kind).split(",")][:MOST]
    name, _, port = address.removeprefix("dns:///").rpartition(":")
    if "://" in name or ":" in name or "/" in name or not port.isdecimal() or is_loopback(name):
        return [address]
    found = await asyncio.get_running_loop().getaddrinfo(name, int(port), type=socket.SOCK_STREAM)
    hosts = list(dict.fromkeys((family, where[0]) for family, _, _, _, where in found))[:MOST]
    if len(hosts) < 2:
        return [address]
    return [f"ipv6:[{host}]:{port}" if family is socket.AF_INET6 else f"ipv4:{host}:{port}" for family, host in hosts]


@asynccontextmanager
async def channels(runtime: Runtime, stage: str) -> AsyncIterator[list[grpc.aio.Channel]]:
    """Give a channel to each replica of a stage while the block lasts; OSError where its name is not known."""
    address = runtime.address(stage)
    each = [address] if stage in runtime.inner else await addresses(address)
    if len(each) == 1:
        yield [runtime.channel(stage)]
        return
    credential = None if stage in PUBLIC else runtime.credential
    # The name that is in the certificates, of which an address says nothing.
    name = "" if address.startswith(_LISTS) else address.removeprefix("dns:///").rpartition(":")[0]
    async with AsyncExitStack() as stack:
        opened = [open_channel(one, stage, runtime.settings, credential, name) for one in each]
        for one in opened:
            stack.push_async_callback(one.close)
        yield list(opened)

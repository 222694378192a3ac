"""Channels to each single replica of a stage; ordinary channels balance calls among the replicas."""

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
"""The most replicas that are addressed; any beyond are left out."""
_LISTS = ("ipv4:", "ipv6:")


async def addresses(address: str) -> list[str]:
    """Return the address of each replica behind a configured address; the address itself when there is only one.

    Host names are resolved as gRPC does it. Raises OSError when the name does not exist.
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
    """Open a channel to each replica of a stage for the length of the block; OSError when its name is unknown."""
    address = runtime.address(stage)
    each = [address] if stage in runtime.inner else await addresses(address)
    if len(each) == 1:
        yield [runtime.channel(stage)]
        return
    credential = None if stage in PUBLIC else runtime.credential
    # The host name that the certificates contain; a resolved address does not show it.
    name = "" if address.startswith(_LISTS) else address.removeprefix("dns:///").rpartition(":")[0]
    async with AsyncExitStack() as stack:
        opened = [open_channel(one, stage, runtime.settings, credential, name) for one in each]
        for one in opened:
            stack.push_async_callback(one.close)
        yield list(opened)

"""The interface between kit and a service: App describes the service, Runtime is its environment.

Ordinary channels balance calls among the replicas of a stage; others lead to each single replica.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import grpc

from footnote_kit import clients
from footnote_kit.clients import open_channel
from footnote_kit.credential import ServiceCredential
from footnote_kit.front.limits import FrontLimits
from footnote_kit.net import is_loopback
from footnote_kit.settings import DEFAULT_PORTS, PUBLIC, KitSettings


@dataclass(frozen=True, slots=True)
class Forked:
    """A forked process: its id, its pidfd (-1 for none; its holder closes it), and the pipes from and to it."""

    pid: int
    handle: int
    jobs: asyncio.StreamWriter
    """To its standard input. It exits when this closes."""
    answers: asyncio.StreamReader
    """What it writes, until its end."""


class Forks(Protocol):
    """Forks processes from one that has loaded their code, which one service of a process offers to the others.

    A fork costs a few milliseconds, and shares the pages of what is loaded. It holds no credentials, as the process
    that it is forked from. A service that runs without such a neighbour starts its processes by itself.
    """

    async def fork(self, module: str, environment: Mapping[str, str]) -> Forked:
        """Return a process that runs a module's `main` between two pipes, with these variables besides.

        The module is loaded before the first such fork. Raises `RuntimeError` when none can be started.
        """


async def always_ready() -> str | None:
    """Report that nothing prevents serving."""
    return None


@dataclass
class App:
    """One service, as its `build` function assembled it."""

    name: str
    """The stage's name, such as "ingestion"."""
    servicers: Sequence[tuple[Callable[[Any, grpc.aio.Server], None], Any, str]]
    """(add_XServicer_to_server, servicer, full service name)."""
    ready: Callable[[], Awaitable[str | None]] = always_ready
    """Returns None when the dependencies are fine, else the reason. Polled every few seconds; drives the health
    service."""
    start: Sequence[Callable[[], Awaitable[None]]] = ()
    """Run in order once all services of the process listen."""
    drain: Sequence[Callable[[], None]] = ()
    """Called when the health service asks load balancers for no more calls, so that other listeners ask their clients
    too."""
    refuse: Sequence[Callable[[], Awaitable[None]]] = ()
    """Run in order before new calls are refused: what listens besides stops first, if it makes calls."""
    close: Sequence[Callable[[], Awaitable[None]]] = ()
    """Run in order after the last call has ended."""
    public: bool = False
    """Whether any client may connect. A public service authenticates callers itself and accepts no scope from
    outside. All others are stages: they serve only the services of their deployment, which prove their identity."""
    front: FrontLimits = field(default_factory=FrontLimits)
    """Limits on the connections of unauthenticated clients to a public service."""
    authenticates: bool = False
    """Whether a public service requires credentials, so that it may listen beyond loopback."""
    admit: Callable[[str, Mapping[str, str]], Awaitable[None]] | None = None
    """Runs before any message of a call is read, with the full method ("/package.Service/Method") and the headers. A
    FootnoteError refuses the call. Context variables that it binds hold for the handler."""
    refused: Callable[[str, Exception, Mapping[str, str], str], None] | None = None
    """Called for each call that `admit` refused, with its method, the error, its headers and its gRPC peer."""


@dataclass
class Runtime:
    """The environment of every `build`: where state lives, and how to reach other stages and the vector store."""

    settings: KitSettings
    data_dir: Path
    """The deployment's folder; a service uses `data_dir / "<service>"`."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Addresses by stage that differ from the settings; shared by the services of a process."""
    vector_store_uri: str = ""
    """Address of the vector store, in that store's own syntax."""
    vector_store_token: str = ""
    inner: dict[str, str] = field(default_factory=dict)
    """Addresses by stage of listeners inside this process, which bypass the front proxy and TLS."""
    announced: dict[str, str] = field(default_factory=dict)
    """Further addresses that services listen on, by name; they appear in addresses.json."""
    port_base: int | None = None
    """The deployment's first port if it is not the default; 0 for ephemeral ports."""
    credential: ServiceCredential | None = None
    """The credential of this deployment's services; None when certificates authenticate them."""
    forks: Forks | None = None
    """Forks processes for services that need some; None when no service of this process offers it."""
    _channels: dict[str, grpc.aio.Channel] = field(default_factory=dict)

    def address(self, stage: str) -> str:
        """Return the address of a stage."""
        return self.addresses.get(stage) or self.settings.address(stage)

    def channel(self, stage: str) -> grpc.aio.Channel:
        """Return the shared channel to a stage; it passes on deadlines, scope and trace."""
        if stage not in self._channels:
            inner = self.inner.get(stage, "")
            self._channels[stage] = clients.open_channel(
                inner or self.address(stage),
                peer=stage,
                settings=self.settings.without_tls() if inner else self.settings,
                credential=None if stage in PUBLIC else self.credential,
            )
        return self._channels[stage]

    async def check(self, stage: str) -> str | None:
        """Check that a stage is healthy and accepts this service; return None, or a sentence that says why not."""
        channel = self.channel(stage)
        problem = await clients.check_health(channel, stage)
        return problem if problem or stage in PUBLIC else await clients.check_trust(channel)

    def announce(self, name: str, address: str) -> None:
        """Publish that a service also listens at `address`, as in ("http", "127.0.0.1:7180")."""
        self.announced[name] = address

    def port(self, default: int) -> int:
        """Return the port that replaces `default`: shifted by --port-base, or 0 for an ephemeral one."""
        if self.port_base is None or default == 0:
            return default
        return 0 if self.port_base == 0 else self.port_base + default - DEFAULT_PORTS["edge"]

    async def close(self) -> None:
        """Close all channels."""
        channels = list(self._channels.values())
        self._channels.clear()
        await asyncio.gather(*(channel.close() for channel in channels))


MOST_REPLICAS = 64
"""The most replicas that are addressed; any beyond are left out."""
_LISTS = ("ipv4:", "ipv6:")


async def replica_addresses(address: str) -> list[str]:
    """Return the address of each replica behind a configured address; the address itself when there is only one.

    Host names are resolved as gRPC does it. Raises OSError when the name does not exist.
    """
    for kind in _LISTS:
        if address.startswith(kind):
            return [kind + one for one in address.removeprefix(kind).split(",")][:MOST_REPLICAS]
    name, _, port = address.removeprefix("dns:///").rpartition(":")
    if "://" in name or ":" in name or "/" in name or not port.isdecimal() or is_loopback(name):
        return [address]
    found = await asyncio.get_running_loop().getaddrinfo(name, int(port), type=socket.SOCK_STREAM)
    hosts = list(dict.fromkeys((family, where[0]) for family, _, _, _, where in found))[:MOST_REPLICAS]
    if len(hosts) < 2:
        return [address]
    return [f"ipv6:[{host}]:{port}" if family is socket.AF_INET6 else f"ipv4:{host}:{port}" for family, host in hosts]


@asynccontextmanager
async def replica_channels(runtime: Runtime, stage: str) -> AsyncIterator[list[grpc.aio.Channel]]:
    """Open a channel to each replica of a stage for the length of the block; OSError when its name is unknown."""
    address = runtime.address(stage)
    each = [address] if stage in runtime.inner else await replica_addresses(address)
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

"""What a service is to the kit (App), and what the kit gives to a service (Runtime)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from footnote_kit import clients
from footnote_kit.credential import ServiceCredential
from footnote_kit.front.limits import FrontLimits
from footnote_kit.settings import DEFAULT_PORTS, PUBLIC, KitSettings


async def always_ready() -> str | None:
    """Say that nothing stands in the way."""
    return None


@dataclass
class App:
    """One service as its `build` put it together."""

    name: str
    """The stage, as in "ingestion"."""
    servicers: Sequence[tuple[Callable[[Any, grpc.aio.Server], None], Any, str]]
    """(add_XServicer_to_server, servicer, full service name)."""
    ready: Callable[[], Awaitable[str | None]] = always_ready
    """None when the dependencies are fine, else why not; looked at every few seconds, drives the health service."""
    start: Sequence[Callable[[], Awaitable[None]]] = ()
    """Run in order once every service of the process listens."""
    close: Sequence[Callable[[], Awaitable[None]]] = ()
    """Run in order after the last call has ended."""
    public: bool = False
    """A door for everybody, which finds out itself who calls and takes no scope from outside. All others are stages:
    they serve the services of their deployment only, which prove themselves."""
    front: FrontLimits = field(default_factory=FrontLimits)
    """What a public one bears of strangers' connections."""
    authenticates: bool = False
    """A public one that asks for credentials, so that it may listen beyond loopback."""
    admit: Callable[[str, Mapping[str, str]], Awaitable[None]] | None = None
    """Asked with a call's full method ("/package.Service/Method") and headers before any of its messages is read; a
    FootnoteError refuses the call. What it binds to the context holds for the handler."""
    refused: Callable[[str, Exception, Mapping[str, str], str], None] | None = None
    """Hears of each call that `admit` refused: its method, the error, its headers, what gRPC calls its peer."""


@dataclass
class Runtime:
    """What the kit gives to every `build`: where state lives, how to reach the other stages and the vector store."""

    settings: KitSettings
    data_dir: Path
    """This deployment's folder; a service uses `data_dir / "<service>"`."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Address by stage, where it differs from the settings; shared by the services of a process."""
    vector_store_uri: str = ""
    """Address of the vector store, as that store takes it."""
    vector_store_token: str = ""
    inner: dict[str, str] = field(default_factory=dict)
    """Address by stage of what listens in this process for itself: past the front door, without TLS."""
    announced: dict[str, str] = field(default_factory=dict)
    """Further addresses that services listen on, by name; they appear in addresses.json."""
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the process begins to stop: long streams end themselves then."""
    port_base: int | None = None
    """First port of this deployment where it is not the default; 0 for ephemeral ports."""
    credential: ServiceCredential | None = None
    """What this deployment's services prove themselves with; None where their certificates do."""
    _channels: dict[str, grpc.aio.Channel] = field(default_factory=dict)

    def address(self, stage: str) -> str:
        """Return the address of a stage."""
        return self.addresses.get(stage) or self.settings.address(stage)

    def channel(self, stage: str) -> grpc.aio.Channel:
        """Return the channel to a stage, made at the first call and shared: deadlines, scope and trace go along."""
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
        """Ask whether a stage serves, and serves us; None when it does, else a sentence saying that it does not."""
        channel = self.channel(stage)
        problem = await clients.check_health(channel, stage)
        return problem if problem or stage in PUBLIC else await clients.check_trust(channel)

    def announce(self, name: str, address: str) -> None:
        """Make known that a service also listens at `address`, as in ("http", "127.0.0.1:7180")."""
        self.announced[name] = address

    def port(self, default: int) -> int:
        """Return the port to use where `default` is meant: shifted by --port-base, 0 for ephemeral."""
        if self.port_base is None or default == 0:
            return default
        return 0 if self.port_base == 0 else self.port_base + default - DEFAULT_PORTS["edge"]

    async def close(self) -> None:
        """Close the channels."""
        channels = list(self._channels.values())
        self._channels.clear()
        await asyncio.gather(*(channel.close() for channel in channels))

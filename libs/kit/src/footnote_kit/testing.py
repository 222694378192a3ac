"""Test helpers: run one real service on an ephemeral loopback port."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import Role

from footnote_kit.app import App, Runtime
from footnote_kit.clients import KitChannel, open_channel
from footnote_kit.credential import HEADER, ServiceCredential, new_secret
from footnote_kit.server import ServiceHost
from footnote_kit.settings import KitSettings

SCOPE = Scope(tenant_id="t", user_id="u", roles=[Role.ROLE_ADMIN])
SECRET = new_secret()
CREDENTIAL = ServiceCredential(SECRET, local=True)
"""The credential of the services that `serve_app` runs in this process."""


def stage_channel(address: str, stage: str, credential: ServiceCredential = CREDENTIAL) -> KitChannel:
    """Return a channel to a stage, set up as in another service."""
    return open_channel(address, peer=stage, credential=credential)


def proof_of(stage: str, method: str = "*", scope: Scope = SCOPE, lifetime: float = 600) -> tuple[str, str]:
    """Return the proof header for a plain gRPC client, which does not sign its calls."""
    return HEADER, CREDENTIAL.sign(stage, method, scope, lifetime)


@dataclass(frozen=True, slots=True)
class Served:
    """A running service."""

    address: str
    """The address as host:port."""
    channel: grpc.aio.Channel
    """A kit channel to the service."""
    app: App
    runtime: Runtime
    host: ServiceHost


@asynccontextmanager
async def serve_app(
    build: Callable[[Runtime], Awaitable[App]] | App,
    *,
    data_dir: Path | None = None,
    addresses: Mapping[str, str] | None = None,
    vector_store_uri: str = "",
    settings: KitSettings | None = None,
    credential: ServiceCredential | None = CREDENTIAL,
    **overrides: Any,
) -> AsyncIterator[Served]:
    """Run one service as the launcher does and yield it; `build` is its build function, or a ready App.

    `addresses` lists the stages that it may call. `overrides` are KitSettings by name, as in `call_timeout=1`.
    Without a `credential`, certificates must authenticate callers.
    """
    with tempfile.TemporaryDirectory(prefix="footnote-test-") as folder:
        values = {"grace_seconds": 1.0, "ready_interval": 0.1, **overrides}
        settings = settings or KitSettings(**values)
        runtime = Runtime(
            settings=settings,
            data_dir=data_dir or Path(folder),
            addresses=dict(addresses or {}),
            vector_store_uri=vector_store_uri,
            port_base=0,
            credential=credential,
        )
        app = build if isinstance(build, App) else await build(runtime)
        host = ServiceHost(app.name, settings, credential)
        address = host.bind("127.0.0.1", 0)
        runtime.addresses.setdefault(app.name, address)
        if host.inner_address:
            runtime.inner.setdefault(app.name, host.inner_address)
        signing = None if app.public else credential
        channel = open_channel(address, peer=app.name, settings=settings, credential=signing)
        try:
            await host.serve(app, "127.0.0.1")
            await host.started(runtime.data_dir)
            yield Served(address, channel, app, runtime, host)
        finally:
            await channel.close()
            # The process goes on: what a crowded machine does not close in time would be in the next test's way.
            await host.stop(settings.grace_seconds, 120.0)
            await runtime.close()

"""Opens a plain channel to a stage: no response is retried, translated or hidden."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
from footnote_kit import tls
from footnote_kit.credential import ServiceCredential
from footnote_kit.net import is_loopback
from footnote_kit.settings import KitSettings

from footnote_conformance.suite import Suite
from footnote_conformance.target import Stage, Target

_MAX_MESSAGE = 64 * 1024 * 1024


@asynccontextmanager
async def open_target(
    suite: Suite,
    address: str,
    others: Mapping[str, str],
    credential: ServiceCredential | None,
    settings: KitSettings | None = None,
) -> AsyncIterator[Target]:
    """Yield the stage at `address` (host:port) as a suite's target; `others` are addresses of the stages it needs.

    TLS follows the settings (FOOTNOTE_TLS_…), as for every service; without a `credential` the certificate alone
    authenticates.
    """
    settings = settings or KitSettings()
    async with AsyncExitStack() as stack:
        stages = [
            Stage(name, await stack.enter_async_context(_channel(where, settings)), credential)
            for name, where in {suite.stage: address, **{name: others[name] for name in suite.needs}}.items()
        ]
        yield Target.of(stages[0], stages[1:], suite.probe)


def _channel(address: str, settings: KitSettings) -> grpc.aio.Channel:
    options = [
        ("grpc.max_send_message_length", _MAX_MESSAGE),
        ("grpc.max_receive_message_length", _MAX_MESSAGE),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", int(not is_loopback(address.rpartition(":")[0]))),
    ]
    credentials = tls.channel_credentials(settings)
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=options)
    return grpc.aio.secure_channel(address, credentials, options=options)

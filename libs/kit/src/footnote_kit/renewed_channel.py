"""A gRPC channel that reconnects with the current certificates after they are renewed."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import grpc
import grpc.aio

from footnote_kit.tls import Renewed

Options = Sequence[tuple[str, Any]]


def plain_channel(target: str, options: Options, credentials: Renewed[grpc.ChannelCredentials] | None) -> Any:
    """Return a grpc.aio channel; with credentials, one that checks their files at each call."""
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=options)
    return RenewedChannel(target, options, credentials)


class RenewedChannel(grpc.aio.Channel):
    """Makes calls through a channel that is reopened when the certificate files are replaced.

    gRPC reads a client's certificate once for each channel. Calls in flight stay on their channel, which is closed
    after the last of them.
    """

    def __init__(self, target: str, options: Options, credentials: Renewed[grpc.ChannelCredentials]) -> None:
        self._target, self._options, self._credentials = target, options, credentials
        self._channel = self._open(credentials.now())
        self._calls: Counter[grpc.aio.Channel] = Counter()
        self._closing: set[asyncio.Task[None]] = set()

    def _open(self, credentials: grpc.ChannelCredentials) -> grpc.aio.Channel:
        return grpc.aio.secure_channel(self._target, credentials, options=self._options)

    def _current(self) -> grpc.aio.Channel:
        credentials, new = self._credentials.check()
        if new:
            old, self._channel = self._channel, self._open(credentials)
            if not self._calls[old]:
                self._retire(old)
        return self._channel

    def _retire(self, channel: grpc.aio.Channel) -> None:
        self._calls.pop(channel, None)
        task = asyncio.ensure_future(channel.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _ended(self, channel: grpc.aio.Channel) -> None:
        self._calls[channel] -= 1
        if not self._calls[channel] and channel is not self._channel:
            self._retire(channel)

    def _callable(self, kind: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made: tuple[grpc.aio.Channel | None, Any] = (None, None)

        def start(*arguments: Any, **options: Any) -> Any:
            nonlocal made
            channel = self._current()
            if made[0] is not channel:
                made = channel, getattr(channel, kind)(method, *args, **kwargs)
            call = made[1](*arguments, **options)
            self._calls[channel] += 1
            call.add_done_callback(lambda _: self._ended(channel))
            return call

        return start

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a unary method."""
        return self._callable("unary_unary", method, args, kwargs)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams its responses."""
        return self._callable("unary_stream", method, args, kwargs)

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method whose requests are streamed."""
        return self._callable("stream_unary", method, args, kwargs)

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams both ways."""
        return self._callable("stream_stream", method, args, kwargs)

    async def __aenter__(self) -> "RenewedChannel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """Close the current channel and older ones with calls in flight; the calls get `grace` seconds."""
        left = {*self._calls, self._channel}
        self._calls.clear()
        await asyncio.gather(*(channel.close(grace) for channel in left), *self._closing)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return the state of the connection."""
        return self._current().get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until the connection changes its state."""
        await self._current().wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until the channel is connected."""
        await self._current().channel_ready()

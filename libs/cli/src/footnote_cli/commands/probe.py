"""`footnote probe`: the standard gRPC health check of one service, for containers."""

from typing import Annotated

import grpc
import grpc.aio
import typer
from grpc_health.v1 import health_pb2, health_pb2_grpc

from footnote_cli.addresses import DEFAULT_ADDRESS, check_address
from footnote_cli.command import run
from footnote_cli.console import make_console
from footnote_cli.errors import CommandError, explain
from footnote_cli.session import open_channel


def probe(
    address: Annotated[
        str, typer.Argument(metavar="HOST:PORT", envvar="FOOTNOTE_PROBE_ADDRESS", help="The service to ask.")
    ] = DEFAULT_ADDRESS,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for an answer.")] = 3.0,
) -> None:
    """Check whether a service is ready. Exit code 0 if so, else 1."""

    async def body() -> None:
        async with open_channel(check_address(address)) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            try:
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout)
            except grpc.aio.AioRpcError as error:
                raise explain(error, address) from error
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise CommandError(f"The service at {address} is not ready.", "Its log says what it waits for.")
        make_console().print(f"The service at {address} is ready.")

    run(body)

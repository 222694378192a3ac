"""`footnote whoami`, `footnote usage`: the caller's identity, storage and usage."""

from typing import Annotated

import typer
from footnote.edge.v1.system_pb2 import (
    GetUsageRequest,
    GetUsageResponse,
    ListUserUsageRequest,
    WhoAmIRequest,
    WhoAmIResponse,
)

from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.listing import read_all
from footnote_cli.render import tables
from footnote_cli.render import usage as drawn
from footnote_cli.session import Session


@connected("footnote whoami")
async def whoami(session: Session) -> None:
    """Show your identity, your key and your limits."""
    response: WhoAmIResponse = await session.call(session.stub.WhoAmI, WhoAmIRequest())
    if session.as_json:
        print_json(response)
    else:
        session.out.print(tables.fields(drawn.who(response)))


@connected("footnote usage")
async def usage(
    session: Session,
    by_user: Annotated[bool, typer.Option("--by-user", help="By user of the tenant; for administrators.")] = False,
) -> None:
    """Show your storage and today's usage, and your tenant's limits."""
    if by_user:
        users = await read_all(session, session.stub.ListUserUsage, ListUserUsageRequest(), "users")
        if session.as_json:
            print_json({"users": [as_dict(user) for user in users]})
        elif users:
            session.out.print(drawn.users(users))
        else:
            session.out.print("No user has stored documents or used anything today.")
        return
    response: GetUsageResponse = await session.call(session.stub.GetUsage, GetUsageRequest())
    if session.as_json:
        print_json(response)
        return
    session.out.print(drawn.usage(response))
    session.out.print(drawn.day_end(response), style="dim")

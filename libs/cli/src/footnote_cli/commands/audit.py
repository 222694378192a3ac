"""`footnote audit`: lists and exports actions with their actors and outcomes.

An administrator's key shows the events of its tenant, an operator's those of any. Without a key the command reads the
deployment's own database: the events of all tenants, and those of unknown callers.
"""

from pathlib import Path
from typing import Annotated

import typer
from footnote.edge.v1 import audit_pb2
from footnote.edge.v1.audit_pb2 import ListAuditEventsRequest

from footnote_cli.addresses import DEFAULT_DATA_DIR
from footnote_cli.command import AddressOption, JsonOption, KeyOption, TimeoutOption, run
from footnote_cli.commands.keys import DataDirOption
from footnote_cli.console import as_dict, make_console, print_json
from footnote_cli.errors import usage_error
from footnote_cli.render import tables as drawn
from footnote_cli.server_or_database import events, open_log
from footnote_cli.values import parse_moment

app = typer.Typer(
    no_args_is_help=True,
    help="Show who did what. With an administrator's key: in its tenant, through the server. Without a key, or with "
    "--data-dir: in all tenants, from the deployment's own database.",
)

OfTenantOption = Annotated[
    str, typer.Option("--of-tenant", metavar="ID", help="Only of this tenant; at a server for operators.")
]
EveryOption = Annotated[
    bool, typer.Option("--all-tenants", help="Events of all tenants, and those without a tenant; for operators.")
]
UserOption = Annotated[str, typer.Option("--by", metavar="USER", help="Only by this user.")]
KeyIdOption = Annotated[str, typer.Option("--key-id", metavar="ID", help="Only with this key.")]
ActionOption = Annotated[str, typer.Option(metavar="RPC", help="Only this RPC: DeleteDocument.")]
ResourceOption = Annotated[
    str, typer.Option(metavar="TYPE/ID", help='Only on this resource: "documents/ID"; "documents/" for all of a type.')
]
OutcomeOption = Annotated[
    str, typer.Option(metavar="OUTCOME", help="Only with this outcome: succeeded, refused or failed.")
]
SinceOption = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Only from this time on: 2026-11-22 or 2026-11-22T08:00 here, 2026-11-22T08:00Z, or 7d ago.",
    ),
]
UntilOption = Annotated[str, typer.Option(metavar="TIME", help="Only before this time.")]


def _request(
    tenant: str, every: bool, user: str, key_id: str, action: str, resource: str, outcome: str, since: str, until: str
) -> ListAuditEventsRequest:
    if tenant and every:
        raise usage_error("--of-tenant and --all-tenants exclude each other.", "Give one of them.")
    request = ListAuditEventsRequest(
        tenant_id="-" if every else tenant, user_id=user, key_id=key_id, action=action, resource=resource
    )
    if outcome:
        name = f"AUDIT_OUTCOME_{outcome.upper()}"
        if name not in audit_pb2.AuditOutcome.keys()[1:]:
            words = ", ".join(one.removeprefix("AUDIT_OUTCOME_").lower() for one in audit_pb2.AuditOutcome.keys()[1:])
            raise usage_error(f"There is no outcome '{outcome}'.", f"Choose one of: {words}.")
        request.outcome = audit_pb2.AuditOutcome.Value(name)
    if since:
        request.start_time.CopyFrom(parse_moment(since))
    if until:
        request.end_time.CopyFrom(parse_moment(until))
    return request


@app.command("list")
def list_(
    context: typer.Context,
    of_tenant: OfTenantOption = "",
    all_tenants: EveryOption = False,
    by: UserOption = "",
    key_id: KeyIdOption = "",
    action: ActionOption = "",
    resource: ResourceOption = "",
    outcome: OutcomeOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Maximum number of events.")] = 100,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """List events, newest first."""

    async def body() -> None:
        request = _request(of_tenant, all_tenants, by, key_id, action, resource, outcome, since, until)
        async with open_log(context, data_dir, address, api_key, timeout) as read:
            found = [event async for event in events(read, request, limit)]
        if as_json:
            print_json({"events": [as_dict(event) for event in found]})
        elif found:
            make_console().print(drawn.events(found))
            if len(found) == limit:
                more = f"The newest {limit}; more with --limit, all with: footnote audit export"
                make_console(stderr=True).print(more, style="dim")
        else:
            make_console().print("There are no such events.")

    run(body, as_json=as_json)


@app.command()
def export(
    context: typer.Context,
    of_tenant: OfTenantOption = "",
    all_tenants: EveryOption = False,
    by: UserOption = "",
    key_id: KeyIdOption = "",
    action: ActionOption = "",
    resource: ResourceOption = "",
    outcome: OutcomeOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """Print events as JSON lines, newest first."""

    async def body() -> None:
        request = _request(of_tenant, all_tenants, by, key_id, action, resource, outcome, since, until)
        async with open_log(context, data_dir, address, api_key, timeout) as read:
            async for event in events(read, request):
                print_json(event, line=True)

    run(body)

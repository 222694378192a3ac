"""Renders the caller's identity, and storage and usage against the limits, with bars."""

from datetime import UTC, datetime

from footnote.edge.v1 import system_pb2
from footnote.edge.v1.system_pb2 import GetUsageResponse, TenantLimits, UsageCounts, UserUsage, WhoAmIResponse
from footnote.types.v1.role_pb2 import Role
from footnote_kit.printable import printable_line
from rich.text import Text

from footnote_cli.render.fitted import FittedTable
from footnote_cli.render.tables import enum_word
from footnote_cli.render.text import elapsed, moment, size

_WIDTH = 20
_PARTS = " ▏▎▍▌▋▊▉█"
_NEAR, _FULL = 0.8, 1.0


def bar(share: float) -> Text:
    """Return a bar that is full at 1, in eighths of a character; yellow from 80 %, red when full."""
    kept = min(max(share, 0.0), 1.0)
    eighths = round(kept * _WIDTH * 8)
    if kept and not eighths:
        eighths = 1  # show a non-zero value
    text = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    style = "red" if share >= _FULL else "yellow" if share >= _NEAR else "green"
    result = Text(text, style=style)
    result.append("░" * (_WIDTH - len(text)), style="dim")
    return result


def whole_number(value: float) -> str:
    """Return a count for people: 12 345."""
    return f"{value:,.0f}".replace(",", " ")


def money(value: float) -> str:
    """Return US dollars; small sums keep their significant digits."""
    return f"{value:.2f}" if value >= 0.01 or not value else f"{value:.5f}"


def usage(response: GetUsageResponse) -> FittedTable:
    """Return storage and usage of the caller, of its tenant if available, and the limit with a bar."""
    tenant = response.HasField("tenant")
    columns = ["What", "Yours", *(["Tenant"] if tenant else []), "Limit", "Used"]
    result = FittedTable(*columns, right=("Yours", "Tenant", "Limit") if tenant else ("Yours", "Limit"))
    kinds = (
        ("Documents", "documents", "documents", whole_number),
        ("Bytes of files", "bytes", "bytes", lambda value: size(int(value))),
        ("Collections", "collections", "collections", whole_number),
        ("Tokens today", "tokens_today", "tokens_per_day", whole_number),
        ("US dollars today", "cost_usd_today", "cost_usd_per_day", money),
    )
    for name, field, limit, written in kinds:
        own = "" if field == "collections" else written(getattr(response.own, field))
        cells = [Text(name), Text(own)]
        if tenant:
            cells.append(Text(written(getattr(response.tenant, field))))
        cells += _against(response, field, limit, written)
        result.add_row(*cells)
    return result


def _against(response: GetUsageResponse, field: str, limit: str, written: object) -> list[Text]:
    """Return a limit, and the used share of it if the tenant's usage is available."""
    if not response.limits.HasField(limit):  # type: ignore[arg-type]
        return [Text("none", style="dim"), Text("")]
    most = getattr(response.limits, limit)
    shown = Text(written(most))  # type: ignore[operator]
    if not response.HasField("tenant"):
        return [shown, Text("")]
    share = getattr(response.tenant, field) / most
    return [shown, bar(share) + Text(f" {share:.0%}")]


def day_end(response: GetUsageResponse) -> str:
    """Return when today's counts restart, as a sentence."""
    left = response.day_end_time.ToDatetime(UTC) - datetime.now(UTC)
    hours, minutes = divmod(max(0, round(left.total_seconds() / 60)), 60)
    when = f"{hours} h {minutes} min" if hours else elapsed(minutes * 60)
    return f"The day ends in {when}, at 00:00 UTC."


def users(items: list[UserUsage]) -> FittedTable:
    """Return each user's storage and usage today; the bar compares tokens with the largest user."""
    columns = ("User", "Documents", "Bytes", "Tokens today", "USD today", "")
    result = FittedTable(*columns, right=columns[1:5], whole=("User",))
    most = max((item.counts.tokens_today for item in items), default=0)
    for item in items:
        counts: UsageCounts = item.counts
        share = counts.tokens_today / most if most else 0.0
        numbers = (whole_number(counts.documents), size(counts.bytes), whole_number(counts.tokens_today))
        drawn = Text(bar(share).plain, style="cyan") if most else Text("")
        result.add_row(Text(printable_line(item.user_id)), *numbers, money(counts.cost_usd_today), drawn)
    return result


def who(response: WhoAmIResponse) -> dict[str, str]:
    """Return the caller's identity as texts, by name."""
    by = enum_word(system_pb2.Authentication, response.authentication)
    found = {
        "tenant": response.tenant_id,
        "user": response.user_id,
        "role": enum_word(Role, response.role),
        "groups": ", ".join(response.groups),
        "known by": "nothing: authentication is off" if by == "none" else by,
        "key": " · ".join(part for part in (response.key_id, response.key_label) if part),
        "good until": moment(response.expire_time),
        "limits": limits(response.limits),
    }
    return {name: value for name, value in found.items() if value}


def limits(found: TenantLimits) -> str:
    """Return limits in one line: "documents 100, tokens per day 1 000"."""
    return ", ".join(
        f"{field.name.replace('_', ' ')} {whole_number(value) if float(value).is_integer() else f'{value:g}'}"
        for field, value in found.ListFields()
    )

"""Activity by hour and usage by day, for a tenant's administrators."""

from collections.abc import Mapping
from datetime import UTC, datetime

from footnote.edge.v1 import system_pb2 as pb
from footnote_kit.errors import InvalidArgument
from footnote_kit.handler_context import Call
from google.protobuf.duration_pb2 import Duration

from footnote_edge.api.common import caller
from footnote_edge.api.services import Services
from footnote_edge.system.activity import BOUNDS_MS, KEPT_HOURS, last_hours, time_measure

_USUAL_HOURS = 24
_MEASURES = (
    *("searches", "searches_without_passage", "answers", "ratings_up", "ratings_down"),
    *("claims_supported", "claims_not_confirmed", "claims_unsupported", "claims_uncited"),
)


class ActivityApi:
    """RPCs about activity."""

    services: Services

    async def GetActivity(self, request: pb.GetActivityRequest, context: Call) -> pb.GetActivityResponse:
        """Count activity by hour and usage by day."""
        if not 0 <= request.hours <= KEPT_HOURS:
            raise InvalidArgument.field("hours", f"must be between 0 and {KEPT_HOURS}")
        tenant = caller().tenant_id
        moments = last_hours(request.hours or _USUAL_HOURS)
        counts = await self.services.activity.hours(tenant, moments)
        days = sorted({moment.date() for moment in moments})
        used = await self.services.usage.days(tenant, days[0].isoformat())
        response = pb.GetActivityResponse(
            hours=[_hour(moment, found) for moment, found in zip(moments, counts, strict=True)],
            search_bounds=[Duration(nanos=ms % 1000 * 1_000_000, seconds=ms // 1000) for ms in BOUNDS_MS],
        )
        for day in days:
            spent = used.get(day.isoformat())
            shown = response.days.add()
            shown.start_time.FromDatetime(datetime(day.year, day.month, day.day, tzinfo=UTC))
            if spent is not None:
                shown.tokens, shown.cost_usd = max(0, spent.tokens), max(0.0, spent.cost_usd)
        return response


def _hour(moment: datetime, found: Mapping[str, int]) -> pb.ActivityHour:
    shown = pb.ActivityHour(
        searches_by_time=[found.get(time_measure(step), 0) for step in range(len(BOUNDS_MS) + 1)],
    )
    for name in _MEASURES:
        setattr(shown, name, found.get(name, 0))
    shown.start_time.FromDatetime(moment)
    return shown

"""System information of the deployment, computed once at start."""

from footnote.edge.v1 import system_pb2 as pb
from footnote_kit.edge import SERVICES
from footnote_kit.paging import LARGEST_SIZE, PAGE_BYTES
from footnote_kit.settings import KitSettings
from footnote_kit.timings import duration

from footnote_edge.gateway.sizes import CHARACTERS
from footnote_edge.settings import Settings

_WAYS = {"keys": pb.AUTHENTICATION_KEY, "jwt": pb.AUTHENTICATION_TOKEN}


def about(settings: Settings, kit: KitSettings, version: str) -> pb.GetSystemInfoResponse:
    """Return the public facts that a client needs to configure itself; nothing in it is secret."""
    doors = [pb.ACCESS_DOOR_GRPC]
    if settings.http:
        doors += [pb.ACCESS_DOOR_HTTP, pb.ACCESS_DOOR_OPENAI, pb.ACCESS_DOOR_MCP]
    return pb.GetSystemInfoResponse(
        version=version,
        contract=pb.DESCRIPTOR.package,
        services=sorted(service.full_name for service in SERVICES),
        authentication=[_WAYS[way] for way in settings.auth] or [pb.AUTHENTICATION_NONE],
        token_issuer=settings.jwt_issuer if "jwt" in settings.auth else "",
        doors=doors,
        sizes=pb.SizeLimits(
            message_bytes=kit.max_message_bytes,
            json_body_bytes=settings.body_bytes,
            vectors_body_bytes=settings.vectors_body_bytes,
            page_bytes=PAGE_BYTES,
            page_size=LARGEST_SIZE,
            question_characters=settings.max_question_characters,
            filter_characters=CHARACTERS["json"],
        ),
        deadlines=pb.DefaultDeadlines(
            ask=duration(settings.ask_timeout_seconds),
            call=duration(settings.call_timeout_seconds),
            transfer=duration(settings.job_timeout_seconds),
            watch=duration(settings.watch_lifetime_seconds),
        ),
        answer_lifetime=duration(settings.answer_days * 86_400),
    )

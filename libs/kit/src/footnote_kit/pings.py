"""HTTP/2 keepalive between services: a call to a hung process fails long before its deadline.

A peer that is stopped, or whose machine vanished, leaves its connections open: no error and no data arrive. The
caller therefore pings each idle connection. gRPC's own threads answer pings, so a call may be silent for long and the
peer's event loop and interpreter may be busy. Without an answer the connection and its calls end with UNAVAILABLE,
and repeatable calls go to another replica. When a new connection fails too, all calls are refused at once until one
succeeds.
"""

from footnote_kit.settings import PUBLIC

EVERY_SECONDS = 4.0
"""Idle time after which a connection to a stage is pinged, with or without calls on it."""
ANSWER_SECONDS = 8.0
"""Time limit for the answer to a ping. A crowded machine may delay threads by a second or two, rarely longer."""
CONNECT_SECONDS = 5.0
"""Time limit for one attempt to connect to a stage, handshakes included. Calls made meanwhile wait for it."""
_PUBLIC_EVERY_SECONDS = 60.0
# The front proxy delays hasty clients by up to ten seconds, their pings too, and relays frames in Python.
_PUBLIC_ANSWER_SECONDS = 60.0
_PUBLIC_CONNECT_SECONDS = 10.0


def options(peer: str) -> list[tuple[str, int]]:
    """Return the channel options for `peer`, a stage's name or "edge"."""
    public = peer in PUBLIC
    every = _PUBLIC_EVERY_SECONDS if public else EVERY_SECONDS
    answer = _PUBLIC_ANSWER_SECONDS if public else ANSWER_SECONDS
    connect = _PUBLIC_CONNECT_SECONDS if public else CONNECT_SECONDS
    return [
        ("grpc.keepalive_time_ms", round(every * 1000)),
        # This timeout ends an unanswered connection. gRPC's core reads "grpc.keepalive_timeout_ms" but never sets
        # that timer (its change 39239), so this option, one minute by default, governs all pings.
        ("grpc.http2.ping_timeout_ms", round(answer * 1000)),
        # Ping during silent streams too, or a call to a vanished peer would last until its deadline.
        ("grpc.http2.max_pings_without_data", 0),
        # Detect a stage that stopped between two calls before the next call.
        ("grpc.keepalive_permit_without_calls", int(not public)),
        # Despite its name this limits one attempt: a busy peer needs more time than the pause between two attempts.
        ("grpc.min_reconnect_backoff_ms", round(connect * 1000)),
    ]

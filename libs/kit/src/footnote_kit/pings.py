"""Pings between services: a call to a process that stands still ends long before its deadline.

A peer that is stopped, or gone without a word, leaves its connections open; nothing fails and nothing comes. So a
caller asks each connection that has said nothing for a while whether anybody is there. gRPC's own threads answer, so
that a call may be silent as long as it likes, and the peer's event loop and interpreter busy. Without an answer the
connection and its calls end UNAVAILABLE; what may be repeated goes to another replica. Once a new connection has not
come about either, all calls are refused at once, until one does.
"""

from footnote_kit.settings import PUBLIC

EVERY_SECONDS = 4.0
"""Silence of a stage after which it is asked, with calls and without."""
ANSWER_SECONDS = 8.0
"""For its answer. A crowded machine may let threads wait for a second or two, hardly for more."""
CONNECT_SECONDS = 5.0
"""That one attempt to connect to a stage may take, greetings included; calls that come meanwhile wait for it."""
_PUBLIC_EVERY_SECONDS = 60.0
# Behind the front door: it lets who is hasty wait for ten seconds, pings too, and passes them on in Python.
_PUBLIC_ANSWER_SECONDS = 60.0
_PUBLIC_CONNECT_SECONDS = 10.0


def options(peer: str) -> list[tuple[str, int]]:
    """Return the options of a channel to `peer`, a stage's name or "edge"."""
    public = peer in PUBLIC
    every = _PUBLIC_EVERY_SECONDS if public else EVERY_SECONDS
    answer = _PUBLIC_ANSWER_SECONDS if public else ANSWER_SECONDS
    connect = _PUBLIC_CONNECT_SECONDS if public else CONNECT_SECONDS
    return [
        ("grpc.keepalive_time_ms", round(every * 1000)),
        # What ends a connection without an answer. "grpc.keepalive_timeout_ms" does not: gRPC's core reads it and never
        # sets the timer (its change 39239), so that this one, a minute by default, holds for pings of all purposes.
        ("grpc.http2.ping_timeout_ms", round(answer * 1000)),
        # Also through a stream that says nothing for long: a peer that vanished is not waited for until its deadline.
        ("grpc.http2.max_pings_without_data", 0),
        # A stage that stopped between two calls is known before the next one.
        ("grpc.keepalive_permit_without_calls", int(not public)),
        # In spite of its name the time that one attempt may take: a busy peer needs more than the pause between two.
        ("grpc.min_reconnect_backoff_ms", round(connect * 1000)),
    ]

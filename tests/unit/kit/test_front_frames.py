from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise

import pytest
from footnote_kit.front.frames import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    MAX_CONTINUATIONS,
    MAX_CONTROL_BYTES,
    MAX_HEADER_BLOCK_BYTES,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Boundary,
    ClientFrames,
    Tally,
    Violation,
    frame,
    goaway,
)
from hypothesis import given
from hypothesis import strategies as st

END_STREAM, END_HEADERS, ACK = 1, 4, 1
CONVERSATION = [
    frame(SETTINGS, bytes(12)),
    frame(HEADERS, b"h" * 40, END_HEADERS, 1),
    frame(DATA, b"d" * 300, 0, 1),
    frame(DATA, b"", 0, 1),
    frame(DATA, b"", END_STREAM, 1),
    frame(SETTINGS, b"", ACK),
    frame(PING, bytes(8)),
    frame(PING, bytes(8), ACK),
    frame(HEADERS, b"h", 0, 3),
    frame(CONTINUATION, b"h", END_HEADERS, 3),
    frame(HEADERS, b"trailers", END_HEADERS | END_STREAM, 3),
    frame(WINDOW_UPDATE, bytes(4), 0, 1),
    frame(PRIORITY, bytes(5), 0, 1),
    frame(RST_STREAM, bytes(4), 0, 3),
    frame(77, b"unknown"),
    frame(DATA, bytes(70_000), 0, 1),
]
COUNTED = Tally(frames=16, streams=2, resets=1, pings=1, settings=1, empties=1)
GREETED = PREFACE + b"".join(CONVERSATION)


def told(frames: ClientFrames, pieces: list[bytes]) -> Tally:
    total = dict.fromkeys(asdict(Tally()), 0)
    for piece in pieces:
        for name, count in asdict(frames.feed(piece)).items():
            total[name] += count
    return Tally(**total)


def test_frames_are_counted_wherever_the_stream_is_cut() -> None:
    short = GREETED[:-70_009]
    for at in range(len(short) + 1):
        frames = ClientFrames()
        assert told(frames, [short[:at], short[at:], GREETED[len(short) :]]) == COUNTED, at
        assert frames.last_stream == 3


@pytest.mark.slow
def test_frames_are_counted_byte_by_byte() -> None:
    frames = ClientFrames()
    assert told(frames, [bytes([one]) for one in GREETED]) == COUNTED
    assert frames.greeted


KINDS = st.integers(0, 12).filter(lambda kind: kind not in (PUSH_PROMISE, CONTINUATION))
SENT = st.builds(frame, KINDS, st.binary(max_size=40), st.just(END_HEADERS), st.integers(0, 99))


@given(st.lists(SENT, max_size=20), st.lists(st.integers(0, 1000), max_size=6))
def test_cuts_change_nothing(sent: list[bytes], cuts: list[int]) -> None:
    stream = PREFACE + b"".join(sent)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[begin:end] for begin, end in pairwise(places)]
    whole = ClientFrames().feed(stream)
    assert whole.frames == len(sent)
    assert told(ClientFrames(), pieces) == whole
    boundary = Boundary()
    for piece in pieces:
        boundary.feed(piece.removeprefix(PREFACE) if piece.startswith(PREFACE) else piece)
    answers = Boundary()
    for one in sent:
        answers.feed(one[:5])
        assert not answers.whole
        answers.feed(one[5:])
        assert answers.whole
    assert answers.messages == sum(one[3] == DATA for one in sent)


@given(st.binary(max_size=200))
def test_any_bytes_are_counted_or_refused(data: bytes) -> None:
    frames = ClientFrames()
    frames.feed(PREFACE)
    with suppress(Violation):
        assert frames.feed(data).frames <= len(data) // 9


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n", b"P\0", b"\x16\x03\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r"])
def test_what_does_not_greet_is_refused_at_the_first_byte_that_differs(first: bytes) -> None:
    for pieces in ([first], [bytes([one]) for one in first]):
        frames = ClientFrames()
        with pytest.raises(Violation, match="no_http2"):
            told(frames, pieces)
        assert not frames.greeted


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ([frame(HEADERS, b"", 0, 1)] + [frame(CONTINUATION, b"", 0, 1)] * (MAX_CONTINUATIONS + 1), "headers_too_long"),
        ([frame(HEADERS, bytes(16_000), 0, 1)] + [frame(CONTINUATION, bytes(16_000), 0, 1)] * 8, "headers_too_long"),
        ([frame(CONTINUATION, b"", END_HEADERS, 1)], "continuation_of_nothing"),
        ([frame(SETTINGS, bytes(MAX_CONTROL_BYTES + 1))], "frame_too_long"),
        ([frame(HEADERS, bytes(MAX_HEADER_BLOCK_BYTES + 1), 0, 1)], "headers_too_long"),
        ([frame(99, bytes(MAX_CONTROL_BYTES + 1))], "frame_too_long"),
        ([frame(PUSH_PROMISE, bytes(4), END_HEADERS, 1)], "push_promise"),
    ],
)
def test_what_is_never_right_is_refused(sent: list[bytes], reason: str) -> None:
    with pytest.raises(Violation, match=reason):
        ClientFrames().feed(PREFACE + b"".join(sent))


def test_a_header_block_may_have_some_continuations() -> None:
    block = frame(HEADERS, bytes(3000), 0, 1) + frame(CONTINUATION, bytes(3000), 0, 1) * (MAX_CONTINUATIONS - 1)
    assert ClientFrames().feed(PREFACE + block + frame(CONTINUATION, b"", END_HEADERS, 1)).streams == 1


def test_the_farewell_is_a_frame() -> None:
    assert goaway(7, 11, "calm") == b"\0\0\x0c" + bytes([GOAWAY, 0]) + bytes(4) + b"\0\0\0\x07\0\0\0\x0bcalm"

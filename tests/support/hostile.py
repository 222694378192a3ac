"""Hostile callers, each for a process of its own: `python -m support.hostile ATTACK JSON`; only ever on loopback.

Each says `ready`, attacks for so many seconds at a bounded rate and with little priority, so that what hurts is what
the server does and not what the attack costs, and ends with one line of JSON: what it delivered.
"""

import asyncio
import itertools
import json
import os
import random
import resource
import socket
import struct
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentsRequest
from footnote_kit.edge import EdgeStub

LENGTH = 2000
SOURCE = ("127.0.0.66", 0)
"""Where raw connections come from: another address than that of good callers, so that limits per address can work."""
MEBIBYTE = 1024 * 1024


@dataclass
class Orders:
    """Where and how long to attack, and the hostile tenant's keys."""

    grpc: str
    http: str
    reader: str
    writer: str
    collection: str
    seconds: float

    def place(self, address: str) -> tuple[str, int]:
        host, _, port = address.rpartition(":")
        assert host == "127.0.0.1"
        return host, int(port)


Counts = Counter[str]


def nasty(length: int = LENGTH) -> list[str]:
    """Return texts of this length at which careless patterns go over the same letters again and again."""
    units = [
        "a'", "'", "a’", ".", "..a", "1.", "1.2,", "1,", "1 000 ", "-", "a-", "a.b.", "A.", "e.g. ", "Mr. ",
        '"', '("', "'\"", "“”", "«a", "(", "((1)", "[1]", "漢", "漢字。", "あ", "한", "ก", "a\u0301", "\u0301",
        "e\u0301'", "\u200d", "ﬁ", "ß", "_", "a_", "aA", "1a", "a1.", "$1,", "€1.", "%", "?!", "…", "\t", "\n",
        " ", "\u00a0", "#", "/", "//a", "a@", "@a.", "http://", "v1.2.3-", "0x", "12:34:", "1/2/", "IV.", "§1.",
        "A1:", "|", "*a*", "`", "<b>", "&amp;", "\\", "{}", "page ", "and ", "is is ", "vs. ", "ne ", "et ",
        "qu'", "l'", "д.", "т. ", "ال", "न्",
    ]  # fmt: skip
    texts = [(unit * length)[: length - 1] + end for unit in units for end in ("", "!", "a")]
    texts += ["a" * (length - 1) + "!", "1" * (length - 1) + "x", ("a" * 50 + " ") * (length // 51)]
    texts += [unicodedata.normalize("NFD", "é" * (length // 2)), "a'b\"c" * (length // 5), "((((a)" * (length // 6)]
    return [text[:length] for text in texts]


def bearer(key: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {key}"),)


async def searches(orders: Orders, counts: Counts) -> None:
    """Ask for texts that patterns choke on, four at a time."""
    texts = nasty()
    random.Random(7).shuffle(texts)
    queue: Iterator[str] = (text for _ in range(1000) for text in texts)

    async def one(stub: Any) -> None:
        for text in queue:
            with suppress(grpc.aio.AioRpcError):
                if counts["asked"] % 2:
                    await stub.Search(SearchRequest(query=text), metadata=bearer(orders.reader), timeout=30)
                else:
                    request = AskRequest(question=text)
                    async for _ in stub.Ask(request, metadata=bearer(orders.reader), timeout=30):
                        pass
            counts["asked"] += 1
            await asyncio.sleep(0.05)

    async with grpc.aio.insecure_channel(orders.grpc) as channel:
        stub = EdgeStub(channel)
        await asyncio.gather(*(one(stub) for _ in range(4)))


async def documents(orders: Orders, counts: Counts) -> None:
    """Upload texts without a space, sentences without an end, and ends without a sentence."""
    bodies = ["." * 24_000, "a" * MEBIBYTE, "漢" * 300_000, "1." * 12_000, "a'" * 12_000, "\u0301" * 24_000]
    bodies += [". " * 12_000, '"' * 24_000, "?!" * 12_000, "# " * 12_000, "|" * 24_000, "A." * 12_000]
    async with grpc.aio.insecure_channel(orders.grpc) as channel:
        stub: Any = EdgeStub(channel)
        for number, body in enumerate(body for _ in range(20) for body in bodies):
            content = body.encode() + str(number).encode()
            head = UploadMetadata(collection=orders.collection, filename=f"{number}.{('txt', 'md')[number % 2]}")
            parts = [UploadDocumentRequest(metadata=head)]
            parts += [
                UploadDocumentRequest(data=content[start : start + 262_144])
                for start in range(0, len(content), 262_144)
            ]
            with suppress(grpc.aio.AioRpcError):
                await stub.UploadDocument(iter(parts), metadata=bearer(orders.writer), timeout=30)
                counts["accepted"] += 1
            counts["uploaded"] += 1
            await asyncio.sleep(0.4)


async def bodies(orders: Orders, counts: Counts) -> None:
    """Post 16 MiB of JSON without a key, two at a time."""
    node = b'{"a":[1,2,{"b":"c"}]},'
    texts = [
        ("/v1/search", b'{"query":"x","document_ids":[' + b'"a",' * (4 * MEBIBYTE - 10) + b'"a"]}'),
        ("/v1/collections", b'{"name":"x","metadata":{"a":[' + node * (16 * MEBIBYTE // len(node) - 2) + b"{}]}}"),
        ("/v1/ask", b'{"question":"x","history":[' + b'{"text":"a"},' * (16 * MEBIBYTE // 13 - 10) + b"{}]}"),
    ]
    turns = itertools.cycle(texts)

    async def one() -> None:
        while True:
            path, body = next(turns)
            head = f"POST {path} HTTP/1.1\r\nHost: {orders.http}\r\nContent-Type: application/json\r\n"
            head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(*orders.place(orders.http), local_addr=SOURCE)
                try:
                    writer.write(head.encode())
                    for start in range(0, len(body), MEBIBYTE):
                        writer.write(body[start : start + MEBIBYTE])
                        await asyncio.wait_for(writer.drain(), 20)
                        counts["mebibytes"] += 1
                    counts["answered"] += bool(await asyncio.wait_for(reader.read(100), 20))
                except (TimeoutError, ConnectionError):
                    counts["cut off"] += 1
                finally:
                    writer.close()
            counts["posted"] += 1
            await asyncio.sleep(0.5)

    await asyncio.gather(one(), one())


async def slow(orders: Orders, counts: Counts) -> None:
    """Send headers and bodies byte by byte, on two hundred connections, and open others where they are cut."""
    heads = [
        b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{",
        b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Slow: a",
        b"POST /v1/documents HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\nContent-Type: application/json\r\n\r\n[",
    ]

    async def one(number: int) -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(*orders.place(orders.http), local_addr=SOURCE)
                counts["connections"] += 1
                try:
                    writer.write(heads[number % len(heads)])
                    while not writer.is_closing():
                        writer.write(b"a")
                        await writer.drain()
                        counts["bytes"] += 1
                        await asyncio.sleep(0.5 + random.random())
                finally:
                    writer.close()
            await asyncio.sleep(0.5)

    await asyncio.gather(*(one(number) for number in range(200)))


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return one HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: str, value: str) -> bytes:
    """Return one header as HPACK writes it without table and without Huffman."""
    out = b"\x00"
    for text in (name, value):
        raw = text.encode()
        assert len(raw) < 127
        out += bytes([len(raw)]) + raw
    return out


async def resets(orders: Orders, counts: Counts) -> None:
    """Begin searches and reset their streams at once, two thousand a second."""
    path = "/footnote.edge.v1.AnswersService/Search"
    headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x")]
    headers += [("content-type", "application/grpc"), ("te", "trailers"), ("authorization", f"Bearer {orders.reader}")]
    block = b"".join(literal(name, value) for name, value in headers)
    request = SearchRequest(query="code word").SerializeToString()
    message = b"\x00" + struct.pack(">I", len(request)) + request

    async def one() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(*orders.place(orders.grpc), local_addr=SOURCE)
                counts["connections"] += 1
                drain = asyncio.create_task(_swallow(reader))
                try:
                    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
                    for stream in range(1, 200_000, 2):
                        writer.write(frame(1, 4, stream, block) + frame(0, 1, stream, message))
                        writer.write(frame(3, 0, stream, struct.pack(">I", 8)))
                        counts["reset"] += 1
                        if stream % 200 == 1:
                            await writer.drain()
                            await asyncio.sleep(0.1)
                            if drain.done():
                                break
                finally:
                    drain.cancel()
                    writer.close()
            await asyncio.sleep(0.2)

    await asyncio.gather(one(), one())


async def _swallow(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(65_536):
            pass


async def watches(orders: Orders, counts: Counts) -> None:
    """Watch a collection six hundred times at once, with one reader's key."""
    request = WatchDocumentsRequest(collection=orders.collection)

    async def one(stub: Any) -> None:
        while True:
            with suppress(grpc.aio.AioRpcError):
                counts["opened"] += 1
                async for _ in stub.WatchDocuments(request, metadata=bearer(orders.reader)):
                    counts["events"] += 1
            counts["ended"] += 1
            await asyncio.sleep(2)

    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(orders.grpc, options=options) for _ in range(6)]
    try:
        await asyncio.gather(*(one(EdgeStub(channel)) for channel in channels for _ in range(100)))
    finally:
        for channel in channels:
            await channel.close()


async def nested(orders: Orders, counts: Counts) -> None:
    """Send JSON that is deep, JSON of many nodes, and headers that don't end, with a key and without."""
    deep = 200_000
    texts = [
        b'{"metadata":' + b'{"a":' * deep + b"1" + b"}" * (deep + 1),
        b'{"query":"x","filter":{"json":"' + b"[" * deep + b"]" * deep + b'"}}',
        b"[" * deep,
        b'{"query":"x","filter":{"json":"' + b'{\\"$and\\":[' * 20_000 + b'"}}',
        b'{"' + b'","'.join(b'a":"%d' % number for number in range(60_000)) + b'"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * deep + b"]" * deep + b"}",
    ]
    paths = ["/v1/collections", "/v1/search", "/v1/ask", "/v1/search", "/v1/chat/completions", "/mcp"]

    async def post(path: str, body: bytes, more: str) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: {orders.http}\r\nContent-Type: application/json\r\n{more}"
        head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection(*orders.place(orders.http), local_addr=SOURCE)
            try:
                writer.write(head.encode() + body)
                await asyncio.wait_for(writer.drain(), 20)
                counts["answered"] += bool(await asyncio.wait_for(reader.read(100), 20))
            finally:
                writer.close()
        counts["posted"] += 1

    async def one(keys: list[str]) -> None:
        while True:
            for path, body in zip(paths, texts, strict=True):
                for key in keys:
                    await post(path, body, f"Authorization: Bearer {key}\r\n" if key else "")
                    await asyncio.sleep(0.1)
            await post("/v1/search", b"{}", "".join(f"X-{number}: {'a' * 4000}\r\n" for number in range(250)))
            await post("/v1/search", b"{}", f"X-Long: {'a' * MEBIBYTE}\r\n")

    await asyncio.gather(one([orders.writer]), one(["", orders.reader]))


async def halfopen(orders: Orders, counts: Counts) -> None:
    """Open connections that say nothing, or only the beginning of something, and keep them."""
    starts = [b"", b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET", b"\x16\x03\x01\x02\x00\x01"]
    kept: list[socket.socket] = []
    while True:
        for address in (orders.http, orders.grpc):
            with suppress(OSError):
                made = socket.create_connection(orders.place(address), timeout=5, source_address=SOURCE)
                made.setblocking(False)
                with suppress(BlockingIOError):
                    made.send(starts[counts["connections"] % len(starts)])
                kept.append(made)
                counts["connections"] += 1
        if len(kept) > 600:
            kept.pop(0).close()
        await asyncio.sleep(0.01)


ATTACKS: dict[str, Callable[[Orders, Counts], Awaitable[None]]] = {
    attack.__name__: attack
    for attack in (searches, documents, bodies, slow, resets, watches, nested, halfopen)
}  # fmt: skip


async def main(name: str, orders: Orders) -> None:
    counts: Counts = Counter()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    start = time.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(orders.seconds):
            await ATTACKS[name](orders, counts)
    sys.stdout.write(json.dumps({**counts, "seconds": round(time.monotonic() - start, 1)}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # whatever still hangs on a connection ends here


if __name__ == "__main__":
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    asyncio.run(main(sys.argv[1], Orders(**json.loads(sys.argv[2]))))

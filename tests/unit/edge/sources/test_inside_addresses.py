"""Internal addresses in every notation: none is connected to.

The notations are those that others have collected to get past such filters: PayloadsAllTheThings (MIT licence) on
server-side request forgery, PortSwigger's and OWASP's pages on it. A generator writes each address in each of them.
"""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from typing import Any

import httpcore2
import pytest
from footnote_edge.sources.kinds.feed import FEED
from footnote_edge.sources.kinds.imap import IMAP
from footnote_edge.sources.kinds.web import WEB
from footnote_edge.sources.net.client import Client, normal
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import ItemFailed, Opening, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import Memory, listing

INSIDE = [
    "127.0.0.1", "127.127.127.127", "10.1.2.3", "172.16.5.4", "192.168.0.1", "169.254.169.254", "100.100.100.200",
    "0.0.0.0", "192.0.0.192", "168.63.129.16", "224.0.0.1", "255.255.255.255",
]  # fmt: skip
"""Loopback, private, link-local, carriers' own, this host, and where clouds keep metadata."""


def _octets(text: str) -> list[int]:
    return [int(one) for one in text.split(".")]


def _enclosed(text: str) -> str:
    return "".join("⓪①②③④⑤⑥⑦⑧⑨"[int(one)] if one.isdigit() else one for one in text)


def _wide(text: str) -> str:
    return "".join(chr(ord("０") + int(one)) if one.isdigit() else one for one in text)


def _groups(text: str) -> str:
    number = int(IPv4Address(text))
    return f"{number >> 16:x}:{number & 0xFFFF:x}"


NOTATIONS: dict[str, Callable[[str], str]] = {
    "dotted": lambda ip: ip,
    "a dot behind": lambda ip: f"{ip}.",
    "decimal": lambda ip: str(int(IPv4Address(ip))),
    "hexadecimal": lambda ip: f"0x{int(IPv4Address(ip)):08X}",
    "octal": lambda ip: f"0{int(IPv4Address(ip)):o}",
    "octal octets": lambda ip: ".".join(f"0{one:o}" for one in _octets(ip)),
    "padded octal octets": lambda ip: ".".join(f"{one:08o}" for one in _octets(ip)),
    "hexadecimal octets": lambda ip: ".".join(f"0x{one:x}" for one in _octets(ip)),
    "two parts": lambda ip: f"{_octets(ip)[0]}.{int(IPv4Address(ip)) & 0xFFFFFF}",
    "three parts": lambda ip: f"{_octets(ip)[0]}.{_octets(ip)[1]}.{int(IPv4Address(ip)) & 0xFFFF}",
    "mixed": lambda ip: f"0x{_octets(ip)[0]:x}.0{_octets(ip)[1]:o}.{int(IPv4Address(ip)) & 0xFFFF}",
    "mapped": lambda ip: f"[::ffff:{ip}]",
    "mapped in hexadecimal": lambda ip: f"[::ffff:{_groups(ip)}]",
    "mapped in full": lambda ip: f"[0:0:0:0:0:ffff:{_groups(ip)}]",
    "compatible": lambda ip: f"[::{ip}]",
    "6to4": lambda ip: f"[2002:{_groups(ip)}::1]",
    "NAT64": lambda ip: f"[64:ff9b::{_groups(ip)}]",
    "NAT64 of a network": lambda ip: f"[64:ff9b:1::{_groups(ip)}]",
    "enclosed": _enclosed,
    "wide": _wide,
    "wide dots": lambda ip: ip.replace(".", "。"),
    "encoded": lambda ip: "".join(f"%{ord(one):02x}" for one in ip),
    "a user name before": lambda ip: f"example.org@{ip}",
    "a user name and a fragment": lambda ip: f"{ip}#@example.org",
    "a backslash": lambda ip: f"example.org\\@{ip}",
}

COLLECTED = [
    "http://localhost:80", "http://LOCALHOST", "http://localhost.", "http://[::]:80/", "http://[::1]", "http://0000::1:80/",
    "http://[0:0:0:0:0:0:0:1]", "http://[fe80::1%25lo]", "http://[fd00:ec2::254]/latest/", "http://0/", "http://127.1",
    "http://127.0.1", "http://0o177.0.0.1/", "http://o177.0.0.1/", "http://127.0.0.1/%61dmin", "http://127.0.0.1:22",
    "http://1.1.1.1 &@127.0.0.1# @3.3.3.3/", "http://127.1.1.1:80\\@127.2.2.2:80/", "http://127.1.1.1:80\\@@127.2.2.2:80/",
    "http://127.1.1.1:80:\\@@127.2.2.2:80/", "http://127.1.1.1:80#\\@127.2.2.2:80/", "0://evil.com:80;http://127.0.0.1:80/",
    "jar:http://127.0.0.1!/", "file:///etc/passwd", "file://\\/\\/etc/passwd", "dict://127.0.0.1:6379/INFO",
    "sftp://127.0.0.1:11111/", "tftp://127.0.0.1:12346/x", "ldap://localhost:11211/%0astats%0aquit",
    "gopher://127.0.0.1:25/xHELO%20localhost", "netdoc:///etc/passwd", "//127.0.0.1/", "http:127.0.0.1",
    "http:/127.0.0.1",
    "http:///127.0.0.1", "http://\t127.0.0.1", "http://127.0.0.1\r\nHost:x", "http://127.0.0.1:0",
    "http://127.0.0.1:99999",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://loc\u00adalhost/", "http://[::ffff:7f00:1]", "http://[::7f00:1]",
]  # fmt: skip
"""Whole addresses of those collections."""


def every() -> Iterator[tuple[str, str]]:
    """Yield a label and an address for each notation of each inside address, then the collected ones."""
    for ip in INSIDE:
        for name, write in NOTATIONS.items():
            yield f"{ip} {name}", f"http://{write(ip)}/latest/meta-data/"
    for url in COLLECTED:
        yield url, url


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return where a connection was begun to."""
    attempts: list[str] = []

    async def connect_tcp(self: Any, host: str, *arguments: Any, **more: Any) -> Any:
        attempts.append(host)
        raise httpcore2.ConnectError

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect_tcp)
    return attempts


async def test_no_notation_of_an_inside_address_is_connected_to(connected: list[str]) -> None:
    client, said = Client(Policy()), dict[str, str]()
    for label, url in every():
        for one in {url, normal(url)}:
            try:
                async with client.follow(one):
                    said[label] = "answered"
            except ItemFailed as error:
                said[label] = error.reason
            except SourceUnavailable as error:
                said[label] = str(error).partition(" is ")[2]
        assert connected == [], label
    await client.close()
    assert len(said) >= 300
    assert set(said.values()) == {"ADDRESS", "not found."}
    assert sum(reason == "ADDRESS" for reason in said.values()) > 200


@pytest.mark.parametrize("kind", [WEB, FEED], ids=lambda kind: kind.id)
@pytest.mark.slow
async def test_no_source_begins_at_an_inside_address(connected: list[str], tmp_path: Any, kind: Any) -> None:
    for label, url in every():
        if "127.0.0.1 " not in label and url not in COLLECTED:
            continue
        try:
            settings = parsed(kind.settings, {"url": url})
        except ValueError:
            continue
        connection = kind.open(Opening(settings, None, "default", tmp_path, Policy()))
        with pytest.raises((SourceRefused, SourceUnavailable)):
            await listing(connection, Memory())
        await connection.close()
        assert connected == [], label


@pytest.mark.parametrize("ip", INSIDE)
async def test_no_mail_server_is_an_inside_address(tmp_path: Any, ip: str) -> None:
    for name in ("dotted", "decimal", "hexadecimal", "octal octets", "two parts"):
        settings = parsed(IMAP.settings, {"host": NOTATIONS[name](ip), "username": "ann"})
        connection = IMAP.open(Opening(settings, parsed(IMAP.secrets, {}), "default", tmp_path, Policy()))
        with pytest.raises(SourceRefused, match="not public"):
            await listing(connection, Memory())


async def test_an_outside_address_is_connected_to(connected: list[str]) -> None:
    client = Client(Policy())
    for url in ("http://93.184.216.34/", "http://[2606:2800:220:1:248:1893:25c8:1946]/"):
        with pytest.raises(SourceUnavailable):
            async with client.follow(url):
                pass
    await client.close()
    assert connected == ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]

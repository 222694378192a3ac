"""The test vectors of docs/service-proof.md; `python tests/support/proof_vectors.py` writes them."""

import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_kit.credential import CLOCK_SKEW, MAX_LIFETIME, ServiceCredential

FILE = Path(__file__).resolve().parents[2] / "docs" / "service-proof-vectors.tsv"
OLD = "example-secret-number-one-never-use-it"
NEW = "example-secret-number-two-never-use-it"
STRANGERS = "example-secret-of-another-deployment-x"
NOW = 1_800_000_000
STAGE = "retrieval"
METHOD = "/footnote.retrieval.v1.RetrievalService/Retrieve"
SCOPE = Scope(tenant_id="acme", user_id="ann", roles=[ROLE_READER], groups=["sales"])
UNKNOWN = b"\xfa\x7d\x03new"  # field 2015, three bytes, which no version of Scope has yet
TURNED = b"\x12\x03ann\x0a\x04acme"  # user_id before tenant_id, as no serialiser writes them


@dataclass(frozen=True)
class Vector:
    """One case. `scope`: the bytes that an accepted proof vouches for, in hexadecimal."""

    name: str
    result: str
    secrets: str
    audience: str
    method: str
    now: int
    proof: str
    scope: str = ""
    why: str = ""


def proof(
    scope: Scope | bytes | None = SCOPE,
    *,
    secret: str = OLD,
    audience: str = STAGE,
    method: str = METHOD,
    issued: int = NOW,
    expires: int = NOW + 120,
) -> str:
    """Return a proof that by default is good at NOW."""
    return ServiceCredential(secret).signed(audience, method, scope, issued, expires)


def part(header: str, at: int, text: str) -> str:
    """Exchange one of the parts between the dots."""
    parts = header.split(".")
    parts[at] = text
    return ".".join(parts)


def flipped(text: str, at: int) -> str:
    """Flip one bit of a part by changing one character."""
    digits = "0123456789abcdef"
    return text[:at] + digits[digits.index(text[at]) ^ 1] + text[at + 1 :]


def vectors() -> Iterator[Vector]:
    """Yield every case, accepted ones first."""
    yield from _accepted()
    yield from _refused()


def _accepted() -> Iterator[Vector]:
    groups = [f"group-{number:03}-{'x' * 118}" for number in range(40)]
    large = Scope(tenant_id="t" * 128, user_id="u" * 128, roles=[ROLE_READER, ROLE_WRITER, ROLE_ADMIN], groups=groups)
    both = f"{NEW},{OLD}"
    yield _good("a call", why="the plain case")
    yield _good(
        "another method and stage", audience="indexing", method="/footnote.indexing.v1.IndexingService/GetChunk"
    )
    yield _good("every method", claimed="*", why="`*` signs for every method of the stage")
    yield _good("no scope", scope=None, why="the stage then answers SCOPE_MISSING where the method needs one")
    yield _good("letters beyond ASCII", scope=Scope(tenant_id="größe", user_id="анна🙂"))
    yield _good("unknown field", SCOPE.SerializeToString() + UNKNOWN, why="a later version's field 2015")
    yield _good("fields in another order", TURNED, why="the bytes count as they travel, and are never written again")
    yield _good("a large scope", scope=large, why="40 groups of 128 characters, some 5 kB; 200 are possible")
    yield _good("the new secret of two", secrets=both, secret=NEW, why="rotation: both keys are accepted")
    yield _good("the old secret of two", secrets=both, secret=OLD, why="rotation: both keys are accepted")
    yield _good("signer ahead within leeway", issued=NOW + CLOCK_SKEW, expires=NOW + 120, why="30 seconds of leeway")
    yield _good("last second", issued=NOW - 120, expires=NOW)
    yield _good("longest life", issued=NOW, expires=NOW + MAX_LIFETIME)


def _good(
    name: str,
    scope: Scope | bytes | None = SCOPE,
    *,
    secrets: str = OLD,
    secret: str = OLD,
    audience: str = STAGE,
    method: str = METHOD,
    claimed: str = "",
    issued: int = NOW,
    expires: int = NOW + 120,
    why: str = "",
) -> Vector:
    header = proof(scope, secret=secret, audience=audience, method=claimed or method, issued=issued, expires=expires)
    content = scope.SerializeToString() if isinstance(scope, Scope) else scope or b""
    return Vector(name, "accept", secrets, audience, method, NOW, header, content.hex(), why)


def _refused() -> Iterator[Vector]:
    good = proof()
    version, key_id, issued, expires, _, scope, mac = good.split(".")
    old = proof(issued=NOW - 121, expires=NOW - 1)
    turned = proof(TURNED)
    written_again = Scope.FromString(TURNED).SerializeToString()
    other = Scope(tenant_id="other", user_id="ann", roles=[ROLE_READER], groups=["sales"])
    cases = {
        "wrong audience": (proof(audience="indexing"), "signed for another stage"),
        "wrong method": (proof(method=METHOD + "s"), "signed for another method"),
        "widened to every method": (part(good, 4, "*"), "`m` changed to `*`"),
        "narrowed to one method": (part(proof(method="*"), 4, "m"), "`*` changed to `m`"),
        "expired": (old, "expires one second before now"),
        "not yet": (proof(issued=NOW + CLOCK_SKEW + 1), "issued 31 seconds after now"),
        "lives too long": (proof(expires=NOW + MAX_LIFETIME + 1), "3661 seconds"),
        "ends before it begins": (proof(issued=NOW + 10, expires=NOW + 9), "expires before issued"),
        "renewed by hand": (part(part(old, 2, issued), 3, expires), "times changed after signing"),
        "unknown key id": (proof(secret=STRANGERS), "a secret of another deployment"),
        "unknown key id, key of zeros": (_zeros(), "what a verifier may compute with in place of a key it lacks"),
        "key id borrowed": (part(proof(secret=STRANGERS), 1, key_id), "a known key id, another's key"),
        "secret no longer known": (proof(secret=NEW), "signed with a secret that is not in the list"),
        "flipped bit in the MAC": (part(good, 6, flipped(mac, 0)), ""),
        "flipped last bit in the MAC": (part(good, 6, flipped(mac, 63)), ""),
        "flipped byte in the scope": (part(good, 5, _bit_flipped(scope)), ""),
        "another tenant's scope": (part(good, 5, proof(other).split(".")[5]), "under the MAC of the first"),
        "scope one character longer": (part(good, 5, scope + "A"), ""),
        "scope left out": (part(good, 5, ""), ""),
        "scope written again": (
            part(turned, 5, proof(written_again).split(".")[5]),
            "the same scope with its fields in order: other bytes",
        ),
        "MAC too short": (good[:-2], "31 bytes"),
        "MAC too long": (good + "00", "33 bytes"),
        "MAC in capitals": (part(good, 6, mac.upper()), "hexadecimal is written in small letters"),
        "no MAC": (good[: -len(mac) - 1], "six parts"),
        "another version": (part(good, 0, "v2"), f"{version} is the only one"),
        "a sign before a number": (part(good, 2, "+" + issued), ""),
        "a number of thirteen digits": (proof(issued=NOW * 1000, expires=NOW * 1000 + 120), "milliseconds"),
        "scope with padding": (part(good, 5, scope + "="), "base64url is written without padding"),
        "scope in ordinary base64": (part(good, 5, "+/" + scope[2:]), "`+` and `/` are not in the alphabet"),
        "scope of an impossible length": (_impossible(), "five characters are no base64; the MAC is right"),
        "nothing": ("", "the header is absent or empty"),
    }
    for name, (header, why) in cases.items():
        yield Vector(name, "refuse", OLD, STAGE, METHOD, NOW, header, "", why)


def _bit_flipped(scope: str) -> str:
    content = bytearray(urlsafe_b64decode(scope + "=" * (-len(scope) % 4)))
    content[2] ^= 1  # the first letter of the tenant's name
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _zeros() -> str:
    key = {"keys": {"00000000": "00" * 32}, "signing": "00000000", "local": False}
    return ServiceCredential.imported(key).signed(STAGE, METHOD, SCOPE, NOW, NOW + 120)


def _impossible() -> str:
    """Return a proof with a right MAC over a scope that is no base64url."""
    from footnote_kit import credential

    head = part(proof(), 5, "AAAAA").rpartition(".")[0]
    key = ServiceCredential(OLD).exported()["keys"]
    assert isinstance(key, dict)
    (secret,) = key.values()
    return f"{head}.{credential._mac(bytes.fromhex(secret), head, STAGE, METHOD)}"


def written() -> str:
    """Return the file: a line of names, then a line for each case, with tabs between the values."""
    names = [one.name for one in fields(Vector)]
    rows = ["\t".join(str(getattr(one, name)) for name in names) for one in vectors()]
    return "\n".join(["\t".join(names), *rows]) + "\n"


def read() -> list[Vector]:
    """Return the cases as the file has them."""
    names, *rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return [Vector(**{**dict(zip(names, row, strict=True)), "now": int(row[5])}) for row in rows]  # type: ignore[arg-type]


if __name__ == "__main__":
    FILE.write_text(written())
    sys.stdout.write(f"{FILE}\n")

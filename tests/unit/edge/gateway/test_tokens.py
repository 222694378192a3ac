"""Tokens that no issuer would make: refused as not valid here, whatever their header and claims hold, never a fault."""

import base64
import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from footnote.types.v1.role_pb2 import ROLE_WRITER
from footnote_edge.gateway.tokens import ALGORITHMS, Tokens
from footnote_edge.settings import Settings
from footnote_kit.errors import Unauthenticated, Unavailable
from footnote_kit.validation import NAME
from support.doubles.issuer import provider

AUDIENCE = "footnote"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
BARE_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PRIVATE = {"rsa": RSA, "ec": EC, "ed": ED, "bare": BARE_RSA}
OWN = {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA", "bare": "RS256"}


def public() -> list[dict[str, Any]]:
    """Return the issuer's keys; of one it does not say which algorithm it is for."""
    rsas, ecs, eds = jwt.algorithms.RSAAlgorithm, jwt.algorithms.ECAlgorithm, jwt.algorithms.OKPAlgorithm
    return [
        {**rsas.to_jwk(RSA.public_key(), as_dict=True), "kid": "rsa", "use": "sig", "alg": "RS256"},
        {**ecs.to_jwk(EC.public_key(), as_dict=True), "kid": "ec", "use": "sig", "alg": "ES256"},
        {**eds.to_jwk(ED.public_key(), as_dict=True), "kid": "ed", "use": "sig", "alg": "EdDSA"},
        {**rsas.to_jwk(BARE_RSA.public_key(), as_dict=True), "kid": "bare", "use": "sig"},
    ]


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Tokens:
    """What checks tokens, with the keys of the tests' issuer."""
    monkeypatch.setattr(jwt.PyJWKClient, "fetch_data", lambda self: {"keys": public()})
    settings = Settings(auth="jwt", jwt_jwks_url="http://127.0.0.1:1/jwks", jwt_audience=AUDIENCE)
    return Tokens(settings)


def good(**changes: Any) -> dict[str, Any]:
    claims = {"sub": "ann", "tenant": "acme", "roles": ["reader"], "aud": AUDIENCE, "exp": int(time.time()) + 60}
    return {**claims, **changes}


def part(value: str | bytes) -> str:
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def signed(header: str | bytes, payload: str | bytes, key: str = "rsa") -> str:
    """Return a token with these very bytes, signed as its key is meant to."""
    head = f"{part(header)}.{part(payload)}"
    algorithm = jwt.get_algorithm_by_name(OWN[key])
    return f"{head}.{part(algorithm.sign(head.encode(), algorithm.prepare_key(PRIVATE[key])))}"


def claims(text: str) -> str:
    """Return a token with the usual claims, and these after them, as they stand."""
    usual = json.dumps(good())[:-1]
    return signed('{"alg":"RS256","kid":"rsa"}', f"{usual},{text}}}")


@pytest.mark.parametrize("key", PRIVATE)
async def test_a_token_of_its_keys_own_algorithm_is_taken(tokens: Tokens, key: str) -> None:
    token = jwt.encode(good(), PRIVATE[key], algorithm=OWN[key], headers={"kid": key})
    assert (await tokens.identify(token)).scope.user_id == "ann"


async def test_a_key_that_the_issuer_withdrew_is_refused_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    now, clock = 0.0, time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + now)
    with provider() as issued:
        url = f"{issued.address}/jwks"
        tokens = Tokens(Settings(auth="jwt", jwt_jwks_url=url, jwt_audience=AUDIENCE))
        token = jwt.encode(good(), issued.private, algorithm="RS256", headers={"kid": "k1"})
        assert (await tokens.identify(token)).scope.user_id == "ann"
        issued.private = RSA
        now = 601.0
        with pytest.raises(Unauthenticated):
            await tokens.identify(token)


async def test_an_issuer_that_is_away_is_asked_for_its_keys_every_few_seconds_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each request holds a thread of the process until it times out, and other calls need those threads."""
    now, clock, asked = 0.0, time.monotonic, 0
    monkeypatch.setattr(time, "monotonic", lambda: clock() + now)

    def away() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        raise ConnectionError

    with provider() as issued:
        tokens = Tokens(Settings(auth="jwt", jwt_jwks_url=f"{issued.address}/jwks", jwt_audience=AUDIENCE))
        token = jwt.encode(good(), issued.private, algorithm="RS256", headers={"kid": "k1"})
        with monkeypatch.context() as patched:
            patched.setattr(issued, "keys", away)
            for _ in range(3):
                with pytest.raises(Unavailable):
                    await tokens.identify(token)
        assert asked == 1
        now = 10.0
        assert (await tokens.identify(token)).scope.user_id == "ann"


@pytest.mark.parametrize("algorithm", ["RS384", "PS256"])
async def test_a_key_that_names_no_algorithm_takes_all_of_its_kind(tokens: Tokens, algorithm: str) -> None:
    token = jwt.encode(good(), BARE_RSA, algorithm=algorithm, headers={"kid": "bare"})
    assert (await tokens.identify(token)).scope.user_id == "ann"


@pytest.mark.parametrize("key", PRIVATE)
async def test_an_algorithm_that_is_not_the_keys_is_refused(tokens: Tokens, key: str) -> None:
    for algorithm in {*ALGORITHMS, "HS256", "none", "RS257", ""} - {OWN[key]}:
        token = signed(json.dumps({"alg": algorithm, "kid": key}), json.dumps(good()), key)
        with pytest.raises(Unauthenticated):
            pytest.fail(f"{algorithm} is taken: {await tokens.identify(token)}")


NUMBERS = ("1e18", "1000000000000000000", "1e400", "-1e400", "NaN", "Infinity", "-1", "9" * 400, "9" * 5000, "1e308")
OTHERS = ('"soon"', '"9999999999"', "null", "true", "[]", "{}", '"\\ud800"', '""')


@pytest.mark.parametrize("name", ["exp", "iat", "nbf"])
async def test_a_time_that_is_none_is_refused_or_far_away(tokens: Tokens, name: str) -> None:
    for value in (*NUMBERS, *OTHERS):
        with suppress(Unauthenticated):
            identity = await tokens.identify(claims(f'"{name}":{value}'))
            assert identity.expire_time is not None, value
            assert identity.expire_time > datetime.now(UTC), value


async def test_a_time_beyond_all_calendars_is_the_last_one(tokens: Tokens) -> None:
    for value in (10**18, 10**12, 253_402_300_800):
        identity = await tokens.identify(claims(f'"exp":{value}'))
        assert identity.expire_time == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("name", ["sub", "tenant", "aud", "roles", "groups", "iss", "jti", "crit"])
async def test_a_claim_of_another_kind_is_no_fault(tokens: Tokens, name: str) -> None:
    for value in (*NUMBERS, *OTHERS, "[[]]", "[1]", '{"a":1}'):
        with suppress(Unauthenticated):
            await tokens.identify(claims(f'"{name}":{value}'))


async def test_a_subject_that_is_no_name_here_is_a_user_of_its_own(tokens: Tokens) -> None:
    """As tokens of GitHub's and GitLab's jobs have them."""
    subjects = ["repo:o/r:ref:refs/heads/main", "repo:o/r:ref:refs/heads/next", "a b", "x" * 255]
    users = {subject: (await tokens.identify(claims(f'"sub":"{subject}"'))).scope.user_id for subject in subjects}
    assert len(set(users.values())) == len(subjects)
    for user in users.values():
        assert NAME.fullmatch(user)
        assert (await tokens.identify(claims(f'"sub":"{user}"'))).scope.user_id != user, "nobody is another by a digest"
    for subject in ("", "x" * 256, "a\\nb", "ä"):
        with pytest.raises(Unauthenticated):
            await tokens.identify(claims(f'"sub":"{subject}"'))


DEEP = "[" * 6000 + "]" * 6000


@pytest.mark.parametrize("name", ["https://footnote.example.com/roles", "realm_access.roles"])
async def test_a_claim_is_found_by_its_whole_name_first(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Auth0 wants claims of one's own to be named by URLs, which hold dots."""
    monkeypatch.setattr(jwt.PyJWKClient, "fetch_data", lambda self: {"keys": public()})
    settings = Settings(auth="jwt", jwt_jwks_url="http://127.0.0.1:1/jwks", jwt_audience=AUDIENCE, jwt_roles_claim=name)
    token = claims(f'"roles": ["reader"], "{name}": ["writer"]')
    assert (await Tokens(settings).identify(token)).scope.roles == [ROLE_WRITER]


@pytest.mark.parametrize(
    "header",
    [
        "{}", "[]", "1", "null", '"RS256"', "{", "", b"\xff\xfe", '{"alg":1,"kid":"rsa"}', '{"alg":null,"kid":"rsa"}',
        '{"alg":["RS256"],"kid":"rsa"}', '{"alg":"RS256"}', '{"alg":"RS256","kid":1}', '{"alg":"RS256","kid":["rsa"]}',
        '{"alg":"RS256","kid":{"a":1}}', '{"alg":"RS256","kid":"other"}', '{"alg":"RS256","kid":"\\ud800"}',
        '{"alg":"RS256","kid":"rsa","crit":["x"]}', '{"alg":"RS256","kid":"rsa","crit":1}',
        '{"alg":"RS256","kid":"rsa","b64":false}', '{"alg":"RS256","kid":"rsa","b64":false,"crit":["b64"]}',
        f'{{"alg":"RS256","kid":"rsa","x":{DEEP}}}', '{"alg":"\\ud800","kid":"rsa"}', '{"alg":{},"kid":"rsa"}',
    ],
    ids=lambda header: str(header)[:40],
)  # fmt: skip
async def test_a_header_of_any_kind_is_no_fault(tokens: Tokens, header: str | bytes) -> None:
    with pytest.raises(Unauthenticated):
        await tokens.identify(signed(header, json.dumps(good())))


@pytest.mark.parametrize(
    "payload",
    ["[]", "1", "null", "", "{", b"\xff\xfe", DEEP, f'{{"exp":{DEEP}}}', '{"\\ud800":1}', "{}"],
    ids=lambda payload: str(payload)[:20],
)
async def test_claims_of_any_kind_are_no_fault(tokens: Tokens, payload: str | bytes) -> None:
    with pytest.raises(Unauthenticated):
        await tokens.identify(signed('{"alg":"RS256","kid":"rsa"}', payload))


@pytest.mark.parametrize("token", ["..", "a.b.c", ".a.", "é.b.c", "\ud800.b.c", "a.b.c" * 1000, "%.%.%", "\0.\0.\0"])
async def test_no_text_is_a_fault(tokens: Tokens, token: str) -> None:
    with pytest.raises(Unauthenticated):
        await tokens.identify(token)

"""The contract's promises for the proof with which a caller authenticates as a service of the deployment."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER
from footnote_kit.credential import CLOCK_SKEW, EVERY_METHOD, HEADER, MAX_LIFETIME, ServiceCredential
from google.protobuf.descriptor import MethodDescriptor

from footnote_conformance.stages.asking import refused
from footnote_conformance.suite import Skipped, Suite, expect
from footnote_conformance.target import Refusal, Stage, Target, request_of

_INVALID = ("UNAUTHENTICATED", "SCOPE_INVALID")
_LIFE = 60
_LATER = b"\xfa\x7d\x05later"  # field 2015 of a scope, which no version has yet
_GROUPS, _CHARACTERS = 200, 128
Forgeries = Mapping[str, Callable[["_Signer"], tuple[str, ...]]]


class _Signer:
    """Makes proofs for one method of a stage."""

    def __init__(self, stage: Stage, credential: ServiceCredential, method: MethodDescriptor, scope: Scope) -> None:
        self._stage, self._credential = stage, credential
        self.method, self.scope = method, scope
        self.path = stage.path(method.name)

    def proof(
        self,
        scope: Scope | bytes | None = None,
        *,
        stage: str = "",
        path: str = "",
        issued: int = 0,
        life: int = _LIFE,
        by: ServiceCredential | None = None,
    ) -> str:
        """Return a valid proof, or one that differs in the given parts; `issued` in seconds from now."""
        begins = int(time.time()) + issued
        scope = self.scope if scope is None else scope
        signer = by or self._credential
        return signer.signed(stage or self._stage.name, path or self.path, scope, begins, begins + life)


def _part(header: str, at: int, text: str) -> str:
    parts = header.split(".")
    parts[at] = text
    return ".".join(parts)


def _flipped(header: str) -> str:
    return header[:-1] + ("0" if header[-1] != "0" else "1")


def _borrowed(signer: _Signer) -> str:
    good, strangers = signer.proof(), signer.proof(by=ServiceCredential.random())
    return _part(strangers, 1, good.split(".")[1])


_FORGED: Forgeries = {
    "without a proof": lambda signer: (),
    "with an empty proof": lambda signer: ("",),
    "with nonsense": lambda signer: ("v1." + "a" * 120,),
    "with two proofs": lambda signer: (signer.proof(), signer.proof()),
    "with a proof for another stage": lambda signer: (signer.proof(stage="another"),),
    "with a proof for another method": lambda signer: (signer.proof(path=f"{signer.path}s"),),
    "with a proof widened to every method": lambda signer: (_part(signer.proof(), 4, EVERY_METHOD),),
    "with a proof of a stranger": lambda signer: (signer.proof(by=ServiceCredential.random()),),
    "with a stranger's MAC under a known key id": lambda signer: (_borrowed(signer),),
    "with a bit of the MAC flipped": lambda signer: (_flipped(signer.proof()),),
    "with a MAC of 31 bytes": lambda signer: (signer.proof()[:-2],),
    "with a MAC of 33 bytes": lambda signer: (signer.proof() + "00",),
    "with a proof that has expired": lambda signer: (signer.proof(issued=-_LIFE - 2),),
    "with a proof that begins later": lambda signer: (signer.proof(issued=CLOCK_SKEW + 20),),
    "with a proof that ends before it begins": lambda signer: (signer.proof(issued=10, life=-1),),
    "with a proof that lives too long": lambda signer: (signer.proof(life=MAX_LIFETIME + 1),),
    "with a proof prolonged by hand": lambda signer: (
        _part(signer.proof(issued=-_LIFE - 2), 3, signer.proof().split(".")[3]),
    ),
    "with the scope of another proof": lambda signer: (
        _part(signer.proof(), 5, signer.proof(_other(signer.scope)).split(".")[5]),
    ),
}


def _other(scope: Scope) -> Scope:
    return Scope(tenant_id=f"{scope.tenant_id}-other", user_id=scope.user_id, roles=scope.roles)


def _signers(target: Target) -> list[_Signer]:
    """Return a signer for each method; Skipped without a secret."""
    credential = target.stage.credential
    if credential is None:
        raise Skipped("no service token was given, so there is nothing to prove a scope with")
    return [_Signer(target.stage, credential, method, target.scope) for method in target.stage.contract.methods]


def _headers(*proofs: str) -> list[tuple[str, str]]:
    return [(HEADER, proof) for proof in proofs]


def add_to(suite: Suite) -> None:
    """Add the checks of the proof."""
    _of_forgeries(suite)
    _of_good_ones(suite)


def _of_forgeries(suite: Suite) -> None:
    @suite.check(
        "A stage trusts a scope only if the calling service authenticates: by a proof in the header "
        "`x-footnote-proof`, by a client certificate with a listed name, or by both, as the deployment requires.",
        "Otherwise it refuses the call with UNAUTHENTICATED and reason SCOPE_INVALID before any handler runs.",
        "The header occurs exactly once and has the form v1.KEYID.ISSUED.EXPIRES.METHODS.SCOPE.MAC, all ASCII:",
        "A header is valid if its MAC is right for the stage and the method called, ISSUED is at most 30 seconds "
        "ahead of the stage's clock, EXPIRES is not past, not before ISSUED, and at most 3660 seconds after it.",
    )
    async def scope_is_proven(target: Target) -> None:
        for signer in _signers(target):
            request = request_of(signer.method, target.scope)
            for name, forged in _FORGED.items():
                call = target.stage.call(signer.method.name, request, _headers(*forged(signer)))
                await refused(call, _INVALID, f"{signer.method.name} {name}")

    @suite.check(
        "The stage uses the scope in the header.",
        "The request's own scope must equal it in every field that the stage knows.",
    )
    async def the_message_says_the_scope_that_is_proven(target: Target) -> None:
        scope = target.scope
        others = {
            "another tenant": _other(scope),
            "another user": Scope(tenant_id=scope.tenant_id, user_id="other", roles=scope.roles),
            "a reader": Scope(tenant_id=scope.tenant_id, user_id=scope.user_id, roles=[ROLE_READER]),
            "a group more": Scope(
                tenant_id=scope.tenant_id, user_id=scope.user_id, roles=scope.roles, groups=["others"]
            ),
        }
        for signer in _signers(target):
            for name, other in others.items():
                for proven, said in ((other, scope), (scope, other)):
                    call = target.stage.call(
                        signer.method.name, request_of(signer.method, said), _headers(signer.proof(proven))
                    )
                    about = "proven" if proven is other else "in the message"
                    await refused(call, _INVALID, f"{signer.method.name} with {name} {about}")
            call = target.stage.call(signer.method.name, request_of(signer.method, None), _headers(signer.proof()))
            await refused(call, _INVALID, f"{signer.method.name} with no scope in the message")


def _of_good_ones(suite: Suite) -> None:
    @suite.check(
        "METHODS: `m` for one method, `*` for every method of the stage.",
        "A proof may be reused until it expires, with the same scope and the same method.",
    )
    async def good_proofs_are_taken(target: Target) -> None:
        signer = _probing(target)
        sent = signer.proof()
        for name, proof in {
            "sent once": sent,
            "sent again": sent,
            "for every method": signer.proof(path=EVERY_METHOD),
            "of a clock 20 seconds ahead": signer.proof(issued=CLOCK_SKEW - 10),
            "in its last seconds": signer.proof(issued=-_LIFE, life=_LIFE + 10),
            "of the longest life": signer.proof(life=MAX_LIFETIME),
        }.items():
            await _taken(target, target.scope, proof, f"a proof {name}")

    @suite.check(
        "Unknown fields, of a later version, do not refuse a call: the stage does not compare them, and forwards the "
        "header's scope to other stages."
    )
    async def fields_of_a_later_scope_are_no_obstacle(target: Target) -> None:
        signer = _probing(target)
        later = target.scope.SerializeToString() + _LATER
        await _taken(target, Scope.FromString(later), signer.proof(later), "a scope with field 2015")
        await _taken(target, target.scope, signer.proof(later), "field 2015 in the proof's scope alone")
        await _taken(target, Scope.FromString(later), signer.proof(), "field 2015 in the message's scope alone")

    @suite.check("The MAC is checked over the received bytes, never over a reserialised message.")
    async def a_scope_counts_as_it_travels(target: Target) -> None:
        signer = _probing(target)
        tenant = Scope(tenant_id=target.scope.tenant_id).SerializeToString()
        rest = target.scope.SerializeToString().removeprefix(tenant)
        await _taken(target, target.scope, signer.proof(rest + tenant), "a proof with the scope's fields turned round")

    @suite.check(
        "A scope of 200 groups of 128 characters each is accepted: a stage accepts 64 kB of metadata.",
    )
    async def the_largest_scope_is_taken(target: Target) -> None:
        groups = [f"{at:0{_CHARACTERS}}" for at in range(_GROUPS)]
        scope = Scope(tenant_id=target.scope.tenant_id, user_id="u" * _CHARACTERS, roles=[ROLE_ADMIN], groups=groups)
        await _taken(target, scope, _probing(target).proof(scope), f"a scope of {_GROUPS} groups")


def _probing(target: Target) -> _Signer:
    return next(signer for signer in _signers(target) if signer.method.name == target.probe)


async def _taken(target: Target, scope: Scope, proof: str, about: str) -> None:
    """Call the probe; raises Failed if it is refused."""
    request: Any = request_of(target.stage.contract.methods_by_name[target.probe], scope)
    try:
        await target.stage.call(target.probe, request, _headers(proof))
    except Refusal as refusal:
        expect(False, f"{about}: {refusal}")

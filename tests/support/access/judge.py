"""What a cell should answer, and what of its answer is a leak."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from support.access.fields import ADDRESSES, Values, Variant
from support.access.operations import Planned
from support.access.people import ROLE_LEVEL, Person, Right
from support.access.targets import Target
from support.access.wire import Outcome

COUNTS = {
    "total_size",
    "total",
    "count",
    "total_candidates",
    "skipped",
    "begun",
    "duplicate",
    "unchanged",
    "finish_reason",
}
CHANGING_LISTS = {"timings", "spans", "data", "text_delta"}
FAULTS = {"INTERNAL", "UNKNOWN", "TIMEOUT", "DATA_LOSS", "CANCELLED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}


class Verdict(StrEnum):
    """What the contracts want of a cell."""

    UNAUTHENTICATED = "unauthenticated"
    DENIED = "denied by role"
    HIDDEN = "hidden"
    FORBIDDEN = "forbidden"
    ALLOWED = "allowed"
    TAKEN = "name taken"
    OPEN = "either"


def expected(planned: Planned, variant: Variant, person: Person, target: Target) -> Verdict:
    """Return what a call must come to."""
    rule = planned.rule
    if rule.role and not person.role:
        return Verdict.UNAUTHENTICATED
    if variant.names_new:
        return _of_new(variant, person, target)
    if ROLE_LEVEL[person.role] < ROLE_LEVEL[rule.role]:
        return Verdict.DENIED
    verdict = _of_named(planned, variant, person, target)
    if verdict is not Verdict.ALLOWED:
        return verdict
    return Verdict.OPEN if _unsettled(planned, variant, person, target) else verdict


def _of_new(variant: Variant, person: Person, target: Target) -> Verdict:
    least = "writer" if variant.mode == "private" else "admin"
    if ROLE_LEVEL[person.role] < ROLE_LEVEL[least]:
        return Verdict.DENIED
    # As the contract says of names: unique among the shared ones of the tenant, and among each owner's private ones.
    held = target.is_owner(person) and target.private if variant.mode == "private" else not target.private
    return Verdict.TAKEN if held and target.right(person) else Verdict.HIDDEN


def _of_named(planned: Planned, variant: Variant, person: Person, target: Target) -> Verdict:
    kinds, right = variant.kinds, target.right(person)
    if kinds & {"conversation", "message"} and not target.is_owner(person):
        return Verdict.HIDDEN
    if "trace" in kinds and not (target.is_owner(person) or target.administers(person)):
        return Verdict.HIDDEN
    if "source" in kinds:
        if right < Right.WRITE:
            return Verdict.HIDDEN
        if right < planned.rule.right and not target.is_owner(person):
            return Verdict.FORBIDDEN
    if kinds & {"collection", "document", "filter"}:
        if right < Right.READ:
            return Verdict.HIDDEN
        if kinds & {"collection", "document"} and right < planned.rule.right:
            return Verdict.FORBIDDEN
    if "message" in kinds and planned.rule.shows == "content" and right < Right.READ:
        return Verdict.OPEN
    return Verdict.ALLOWED


def _unsettled(planned: Planned, variant: Variant, person: Person, target: Target) -> bool:
    """Whether the contracts leave open how an allowed call ends."""
    if "token" in variant.kinds:
        return True  # another user's page: refused or answered, as long as nothing leaks
    if planned.operation.id in ("CancelOperation", "CancelDocument", "RevokeKey", "GetSharedConversation"):
        return True  # it may have ended, or never have been: a key or a share that is none of the matrix's own is named
    if planned.operation.id in ("GetEvaluationRun", "DeleteEvaluationRun"):
        return True  # there is none
    if planned.operation.id.endswith("TenantLimits"):
        return True  # for operators; there are none here
    if planned.operation.id == "UpdateCollection":
        # Only an administrator may share it with the whole tenant, and then no grantee may be named (cells add grants).
        publishes = variant.mode == "visibility" and target.private
        return publishes or (variant.mode == "grants" and not target.private)
    needs_names = any(slot.required and slot.filler.kind in ADDRESSES for slot in planned.slots)
    nothing_named = not variant.kinds and not needs_names
    return nothing_named and planned.operation.id == "ReindexDocuments"


def changes(planned: Planned, variant: Variant) -> bool:
    """Whether a call would change something of the target's."""
    return "*" in planned.rule.changes or bool(variant.kinds & set(planned.rule.changes))


def leaked(outcome: Outcome, hidden: set[str], request: str) -> list[str]:
    """Return the canaries that a caller got without having them."""
    sent = request.lower()
    return sorted(one for one in hidden if one.encode() in outcome.blob and one not in sent)


def evident(outcome: Outcome, canaries: set[str], request: str) -> bool:
    """Whether an answer holds something of a target's that the caller did not send."""
    sent = request.lower()
    return any(one.encode() in outcome.blob and one not in sent for one in canaries)


def as_if(outcome: Outcome, names: Values) -> Any:
    """Return what a caller learns of an answer, with what it named replaced: equal for hidden and absent things."""
    if outcome.ok:
        last = outcome.bodies[-1] if outcome.bodies else None
        return ["OK", shape(last)]
    said = json.dumps(outcome.said, sort_keys=True)
    for name, value in sorted(names.items(), key=lambda pair: -len(str(pair[1]))):
        if isinstance(value, str):
            said = said.replace(value, f"<{name}>")
    return [outcome.code, said]


def shape(value: Any) -> Any:
    """Return the parts of a response that reveal quantities: counts, and lengths of lists."""
    if isinstance(value, dict):
        pairs: Iterator[tuple[str, Any]] = ((name, _shape_of(name, inner)) for name, inner in sorted(value.items()))
        return {name: inner for name, inner in pairs if inner not in (None, {})}
    return [len(value), *map(shape, value[:1])] if isinstance(value, list) else None


def _shape_of(name: str, value: Any) -> Any:
    if name in COUNTS:
        return value
    return shape(value) if name not in CHANGING_LISTS else None

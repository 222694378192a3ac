"""Why a statement is not borne out: a reason of the contract and the words that it is about."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.types.v1.reasons_pb2 import CLAIM_REASON_UNSPECIFIED, ClaimReason


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason and the words of statement (`stated`, `subject`) and source (`found`) it is about; falsy if none."""

    reason: ClaimReason.ValueType = CLAIM_REASON_UNSPECIFIED
    stated: str = ""
    found: str = ""
    subject: str = ""

    def __bool__(self) -> bool:
        """Whether there is a reason."""
        return self.reason != CLAIM_REASON_UNSPECIFIED


NONE = Doubt()
"""Nothing speaks against the statement."""

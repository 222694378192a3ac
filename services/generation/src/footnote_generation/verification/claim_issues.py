"""Why a statement is not supported: a reason of the contract and the words concerned."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.types.v1.reasons_pb2 import CLAIM_REASON_UNSPECIFIED, ClaimReason


@dataclass(frozen=True, slots=True)
class ClaimIssue:
    """A reason and its words in statement (`stated`, `subject`) and source (`found`); falsy if none."""

    reason: ClaimReason.ValueType = CLAIM_REASON_UNSPECIFIED
    stated: str = ""
    found: str = ""
    subject: str = ""

    def __bool__(self) -> bool:
        """Whether there is a reason."""
        return self.reason != CLAIM_REASON_UNSPECIFIED


NONE = ClaimIssue()
"""Nothing contradicts the statement."""

"""What the service and its workers tell each other about a worker: its plan, and its sandbox.

Workers load this, so it imports little.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

NETWORK = "network"
FILES = "files"
PROCESSES = "processes"
PRIVILEGES = "privileges"
LIMITS = "limits"
# The kinds that FOOTNOTE_INGESTION_ISOLATION=required demands, each by at least one measure.
REQUIRED = (NETWORK, FILES, PROCESSES, PRIVILEGES, LIMITS)

Work = Literal["inspect", "parse", "tables"]
RUN = "run "
"""First word of a request for a process that is not a worker; a `Program` follows."""


@dataclass(frozen=True, slots=True)
class Measures:
    """A worker's sandbox: the active measures by kind, and those that the kernel refused, with the reason."""

    active: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def lacking(self) -> list[str]:
        """Return the kinds without any measure."""
        return [kind for kind in REQUIRED if not self.active.get(kind)]

    def text(self) -> str:
        """Return everything in one line, for people."""
        parts = [f"{kind} ({', '.join(how)})" for kind, how in self.active.items()]
        said = "isolated: " + ", ".join(parts) if parts else "not isolated"
        if self.missing:
            said += "; missing: " + ", ".join(f"{name} ({why})" for name, why in self.missing.items())
        return said

    def line(self) -> bytes:
        """Return them as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_line(cls, line: bytes) -> Measures:
        """Return the measures from a JSON line."""
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True)
class Plan:
    """A worker's start parameters: limits in bytes, its folder, user and programs, and what it is for."""

    memory_bytes: int
    file_bytes: int
    folder: str
    isolate: bool
    uid: int
    programs: Sequence[str]
    work: Work

    def line(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Plan:
        """Return the plan from a JSON line."""
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True)
class Program:
    """A module of ours whose `main` a fork runs outside the sandbox, and variables of its environment."""

    module: str
    environment: Mapping[str, str]

    def line(self) -> str:
        """Return it as a request."""
        return RUN + json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Program:
        """Return the program of a request."""
        return cls(**json.loads(line.removeprefix(RUN)))

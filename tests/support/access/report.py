"""What the matrix found, as a table for people and as JSON."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DOORS = ("gRPC", "HTTP", "OpenAI", "MCP")
KINDS = ("read", "write", "existence", "availability", "fault")


@dataclass(frozen=True)
class Finding:
    """A cell that is not as the contracts say."""

    kind: str
    """"read", "write" and "existence" are leaks; "availability" is a refusal of what is allowed; "fault" an error."""
    door: str
    actor: str
    operation: str
    variant: str
    target: str
    what: str

    def __str__(self) -> str:
        whose = f" on {self.target}" if self.target else ""
        return f"{self.kind}: {self.actor}, {self.operation} [{self.variant}]{whose}: {self.what}"


@dataclass
class Report:
    """Cells run, and findings."""

    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def of(self, *kinds: str, actor: str = "") -> list[Finding]:
        """Return findings of these kinds, of everybody or of one."""
        return [one for one in self.findings if one.kind in kinds and actor in ("", one.actor)]

    def leaks(self) -> list[Finding]:
        return self.of("read", "write", "existence")

    def table(self) -> str:
        """Return cells and findings by actor and door."""
        actors = list(dict.fromkeys(actor for actor, _ in self.cells))
        wide = max(len(actor) for actor in [*actors, "actor"])
        lines = [f"{'actor':<{wide}}" + "".join(f"{name:>14}" for name in (*DOORS, "cells")) + f"{'leaks':>8}"]
        for actor in actors:
            counts = [self.cells[actor, door] for door in DOORS]
            lines.append(
                f"{actor:<{wide}}" + "".join(f"{count:>14}" for count in (*counts, sum(counts)))
                + f"{len(self.of('read', 'write', 'existence', actor=actor)):>8}"
            )  # fmt: skip
        totals = [sum(self.cells[actor, door] for actor in actors) for door in DOORS]
        lines.append(
            f"{'all':<{wide}}" + "".join(f"{count:>14}" for count in (*totals, sum(totals))) + f"{len(self.leaks()):>8}"
        )
        lines.append(", ".join(f"{kind}: {len(self.of(kind))}" for kind in KINDS))
        lines.append(", ".join(f"{name}: {count}" for name, count in sorted(self.verdicts.items())))
        lines.append(", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items()))
        lines += [f"skipped: {reason}" for reason in self.skipped]
        return "\n".join(lines)

    def summary(self) -> dict[str, Any]:
        """Return all of it for a program."""
        by_operation = Counter(f"{one.kind}: {one.operation}" for one in self.findings)
        return {
            "cells": sum(self.cells.values()),
            "cells_by_actor_and_door": {f"{actor} / {door}": count for (actor, door), count in self.cells.items()},
            "cells_by_verdict": dict(self.verdicts),
            "leaks": len(self.leaks()),
            "findings_by_kind": {kind: len(self.of(kind)) for kind in KINDS},
            "findings_by_operation": dict(by_operation.most_common()),
            "findings": [vars(one) for one in self.findings],
            "skipped": self.skipped,
            "unknown": self.unknown,
            "seconds": self.seconds,
        }

    def write(self, path: str) -> None:
        """Write it as JSON."""
        Path(path).write_text(json.dumps(self.summary(), indent=1, default=str))


def readable(findings: list[Finding], most: int = 60) -> str:
    """Return findings as text, one a line."""
    lines = [str(one) for one in findings[:most]]
    if len(findings) > most:
        lines.append(f"… and {len(findings) - most} more")
    return f"{len(findings)} findings\n" + "\n".join(lines)

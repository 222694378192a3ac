"""The targets of `footnote serve TARGET`, as one table, and the installed services that they name.

The command imports no service by name: each registers an entry point, so that one can be left out or replaced by
another package.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from footnote_kit.plugins import entry_points
from footnote_kit.settings import AUTO, STAGES

from footnote_cli.errors import CommandError


class UnknownTarget(Exception):
    """There is no such target; the message lists the known ones."""


@dataclass(frozen=True, slots=True)
class Target:
    """What one process runs."""

    services: tuple[str, ...] = ()
    """Stages, in the order in which they start."""
    engine: bool = False
    """Whether it runs the embedded vector engine, unless a Milvus address is set."""
    uses_store: bool = False
    """Whether it uses the vector store."""


# "all" is one process for a laptop; the others are one process each, for a cluster or for inspecting one stage.
TARGETS: dict[str, Target] = {
    #                    services          brings the engine   talks to the store
    "all":          Target(STAGES,             engine=True,        uses_store=True),
    "store":        Target(                    engine=True),
    "ingestion":    Target(("ingestion",)),
    "indexing":     Target(("indexing",),                          uses_store=True),
    "retrieval":    Target(("retrieval",),                         uses_store=True),
    "augmentation": Target(("augmentation",)),
    "generation":   Target(("generation",)),
    "edge":         Target(("edge",)),
}  # fmt: skip

ALIASES = {"engine": "store"}

# How a whole deployment's services share processes, by their number; the first is the one started, always with edge.
# Callers, questions and documents are separated first: then an upload delays no question. The interpreter runs one
# thread of a process at a time, so services in one process share one core.
_CALLERS, _QUESTIONS, _DOCUMENTS = ("edge", "augmentation"), ("retrieval", "generation"), ("ingestion", "indexing")
LAYOUTS: dict[int, tuple[tuple[str, ...], ...]] = {
    1: (STAGES,),
    2: (_CALLERS, (*_QUESTIONS, *_DOCUMENTS)),
    3: (_CALLERS, _QUESTIONS, _DOCUMENTS),
    4: (_CALLERS, ("retrieval",), ("generation",), _DOCUMENTS),
    5: (_CALLERS, ("retrieval",), ("generation",), ("ingestion",), ("indexing",)),
    6: (("edge",), ("augmentation",), ("retrieval",), ("generation",), ("ingestion",), ("indexing",)),
}
MANY = 3
"""Number of processes when a deployment may choose, if there is more than one core."""

# These keep state in the data folder: one process of each per folder.
STATEFUL = frozenset({"ingestion", "indexing", "edge"})


def parse(target: str) -> Target:
    """Parse a target, or several joined by commas; UnknownTarget for an unknown one."""
    wanted = []
    for name in (part.strip() for part in target.split(",")):
        found = TARGETS.get(ALIASES.get(name, name))
        if found is None:
            raise UnknownTarget(f"There is no target {name!r}; there are {', '.join(TARGETS)}")
        wanted.append(found)
    services = {service for one in wanted for service in one.services}
    return Target(
        services=tuple(service for service in STAGES if service in services),
        engine=any(one.engine for one in wanted),
        uses_store=any(one.uses_store for one in wanted),
    )


def split(target: Target, processes: int) -> list[Target]:
    """Return what each process runs; the vector engine is in the first. ValueError for dividing a single stage."""
    if target.services != STAGES and processes > 1:
        raise ValueError("only a whole deployment is divided among processes")
    if processes == 1:
        return [target]
    parts = [Target(tuple(one for one in STAGES if one in names)) for names in LAYOUTS[processes]]
    stores = [target.uses_store and any(TARGETS[one].uses_store for one in part.services) for part in parts]
    return [
        replace(part, engine=target.engine and number == 0, uses_store=uses or (target.engine and number == 0))
        for number, (part, uses) in enumerate(zip(parts, stores, strict=True))
    ]


def how_many(wanted: str, cores: int, store_is_shared: bool = True) -> int:
    """Return into how many processes a whole deployment is divided.

    A number is used as it is. "auto" depends on the cores, and is one if the vector store is in its process's memory.
    """
    return int(wanted) if wanted != AUTO else (MANY if cores > 1 and store_is_shared else 1)


SERVICES = "footnote.services"
"""Services by name: `async (Runtime) -> App`."""
OFFLINE = "footnote.offline"
"""Offline tools on a deployment's own database by name: `async (data_dir) -> (database, the tool)`."""


def found(group: str, name: str) -> Any:
    """Return the entry point with a name. Raises CommandError if there is none."""
    for point in entry_points(group).select(name=name):
        return point.load()
    raise CommandError(
        f"No installed package provides {name!r} ({group}).", "Install all of footnote, or that package."
    )


def load(services: Iterable[str]) -> None:
    """Load services, ahead of their use; that use raises the error of one that cannot be loaded."""
    for name in services:
        with suppress(Exception):
            found(SERVICES, name)

"""What `footnote serve TARGET` runs, as one table."""

from dataclasses import dataclass

from footnote_kit.settings import STAGES


class UnknownTarget(Exception):
    """There is no such target; the message lists those that there are."""


@dataclass(frozen=True, slots=True)
class Target:
    """What one process runs."""

    services: tuple[str, ...] = ()
    """Stages, in the order in which they start."""
    engine: bool = False
    """It brings the embedded vector engine, unless a Milvus address is set."""
    uses_store: bool = False
    """It talks to the vector store."""


# "all" is one process for a laptop; the others are one process each, for a cluster or for a look at one stage.
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

# These keep state in the data folder: one process of each per folder.
STATEFUL = frozenset({"ingestion", "indexing", "edge"})


def parse(target: str) -> Target:
    """Return what a target, or several joined by commas, runs; UnknownTarget for an unknown one."""
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

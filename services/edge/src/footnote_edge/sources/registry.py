"""The kinds of sources by id: built-in ones, and those that packages register in the group `footnote.sources`.

To open a connection, a kind gets checked settings, decrypted secrets, the operator's limits and a cache folder.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from footnote.edge.v1.sources_pb2 import SourceKind as PublicKind
from footnote_kit import plugins
from footnote_kit.errors import FailedPrecondition, InvalidArgument
from footnote_kit.settings_words import problems_of, read
from google.protobuf import json_format
from pydantic import BaseModel

from footnote_edge.sources.patterns import Selecting
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Opening, SourceKind
from footnote_edge.sources.secrets import Sealed, Vault
from footnote_edge.sources.stored import StoredSource

ENTRY_POINT_GROUP = "footnote.sources"


class Kinds(Mapping[str, SourceKind]):
    """The kinds of sources; packages cannot replace the built-in ones."""

    def __init__(self, built_in: tuple[SourceKind, ...]) -> None:
        self._all = {kind.id: kind for kind in built_in}
        self._all |= plugins.installed(ENTRY_POINT_GROUP, SourceKind, lambda kind: kind.id, self._all)

    def __getitem__(self, kind_id: str) -> SourceKind:
        return self._all[kind_id]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def require(self, kind_id: str) -> SourceKind:
        """Return a kind; raises InvalidArgument for an unknown one."""
        if kind_id not in self._all:
            raise InvalidArgument.field("source.kind", f"must be one of {', '.join(self)}")
        return self._all[kind_id]

    def descriptions(self) -> list[PublicKind]:
        """Return the public descriptions of all kinds."""
        return [_described(self._all[kind_id]) for kind_id in self]


def check(
    kind: SourceKind,
    settings: Mapping[str, object],
    secrets: Mapping[str, object],
    holder: str = "source",
    *,
    stored: bool = False,
) -> None:
    """Raise InvalidArgument for settings or secrets that the kind refuses; `holder` is their message's field.

    Settings that are `stored` may be what an earlier version accepted.
    """
    for field, model, values in (("settings", kind.settings, settings), ("secrets", kind.secrets, secrets)):
        problems = problems_of(model, values)
        if not problems and not stored and isinstance(new := read(model, values), Selecting):
            problems = new.problems()
        if problems:
            said = " ".join(problems).replace("of this provider", f"of the kind {kind.id}")
            raise InvalidArgument(said, violations=[(f"{holder}.{field}", problem) for problem in problems])


def parsed(model: type[BaseModel], values: Mapping[str, object]) -> BaseModel:
    """Return validated settings in the kind's own type."""
    return read(model, values)


def _described(kind: SourceKind) -> PublicKind:
    public = PublicKind(id=kind.id, display_name=kind.display_name)
    json_format.ParseDict(kind.settings.model_json_schema(), public.settings_schema)
    json_format.ParseDict(kind.secrets.model_json_schema(), public.secrets_schema)
    return public


class Openings:
    """Prepares connections to sources of every kind."""

    def __init__(self, kinds: Kinds, vault: Vault, policy: Policy, folder: Path) -> None:
        self.kinds = kinds
        self.policy = policy
        self._vault = vault
        self._folder = folder

    def folder(self, source_id: str) -> Path:
        """Return the cache folder of a source."""
        return self._folder / source_id

    def spool(self, source_id: str) -> Path:
        """Return an empty folder for the bytes of a run's items: a killed run's may be outdated; blocks on the disk."""
        folder = self.folder(source_id) / "spool"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def folders(self) -> set[str]:
        """Return the ids of sources that have a cache folder; blocks on the disk."""
        try:
            return {one.name for one in self._folder.iterdir() if len(one.name) == 32 and one.name.isalnum()}
        except FileNotFoundError:
            return set()

    def of(self, source: StoredSource) -> tuple[SourceKind, Opening]:
        """Return a source's kind and the inputs of its connection.

        Raises FailedPrecondition if the kind is not installed, or refuses the stored settings.
        """
        kind = self.kinds.get(source.kind)
        if kind is None:
            raise FailedPrecondition(
                f"The package for sources of the kind '{source.kind}' is not installed here.",
                reason="SOURCE_REFUSED",
            )
        settings = json.loads(source.settings)
        secrets = self._vault.open(source.id, Sealed(source.secrets, source.secret_key))
        try:
            check(kind, settings, secrets, stored=True)
        except InvalidArgument as error:  # stored by an older version, whose kind had other settings
            raise FailedPrecondition(error.message, reason="SOURCE_REFUSED") from None
        values = parsed(kind.settings, settings), parsed(kind.secrets, secrets)
        in_step = source.in_step_time is not None
        return kind, Opening(*values, source.tenant_id, self.folder(source.id), self.policy, in_step)

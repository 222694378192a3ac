"""Prepares the inputs of connections: checked settings, decrypted secrets, the operator's limits, a cache folder."""

import json
from pathlib import Path

from footnote_kit.errors import FailedPrecondition, InvalidArgument

from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Opening, SourceKind
from footnote_edge.sources.registry import Kinds, check, parsed
from footnote_edge.sources.secrets import Sealed, Vault
from footnote_edge.sources.stored import StoredSource


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
            check(kind, settings, secrets)
        except InvalidArgument as error:  # stored by an older version, whose kind had other settings
            raise FailedPrecondition(error.message, reason="SOURCE_REFUSED") from None
        values = parsed(kind.settings, settings), parsed(kind.secrets, secrets)
        return kind, Opening(*values, source.tenant_id, self.folder(source.id), self.policy)

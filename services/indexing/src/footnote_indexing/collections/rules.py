"""Rules for a collection's name and settings, beyond the ranges of the contract."""

import re

from footnote.types.v1 import collection_pb2
from footnote_kit.collection_settings import resolve
from footnote_kit.errors import InvalidArgument

from footnote_indexing.chunking import registry

_NAME = re.compile(r"[^\W_][\w\-. ]{0,127}")


def check_name(name: str) -> None:
    """Raise InvalidArgument for an invalid collection name."""
    if not name:
        raise InvalidArgument.field("collection.name", "is required")
    if not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidArgument.field(
            "collection.name",
            'must be 1 to 128 letters, digits, "-", "_", "." or spaces, and begin with a letter or digit',
        )


def check_settings(settings: collection_pb2.CollectionSettings, deployment: collection_pb2.CollectionSettings) -> None:
    """Raise InvalidArgument for settings that contradict each other, or the deployment's additions to them."""
    chunking = resolve(deployment.chunking, settings.chunking)
    if chunking.parent_child and chunking.child_size > chunking.parent_size:
        raise InvalidArgument.field("collection.settings.chunking.child_size", "must not exceed parent_size")
    registry.check(chunking)

"""Rules for a collection's name, settings and grants, beyond the ranges of the contract."""

import unicodedata
from collections.abc import Sequence

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1 import collection_pb2
from footnote_kit.access import OPEN_TO_ALL, is_for
from footnote_kit.collection_settings import resolve
from footnote_kit.errors import InvalidArgument
from footnote_kit.printable import printable
from footnote_kit.validation import GROUP, GROUP_RULE, NAME, RULE

from footnote_indexing.chunking import registry

MOST_GRANTS = 100
_LONGEST_NAME = 128
_MARKS = ("Mn", "Mc")
"""Categories of the signs that belong to the letter before them: vowels of Hindi and Tamil, for example."""


def checked_name(name: str) -> str:
    """Return a collection name in its composed form, as lookups expect it; InvalidArgument for an invalid one."""
    if len(name) <= 4 * _LONGEST_NAME:  # the time to compose a text grows with the square of its length
        name = unicodedata.normalize("NFC", name)
    if not name:
        raise InvalidArgument.field("collection.name", "is required")
    allowed = len(name) <= _LONGEST_NAME and name[0].isalnum() and all(map(_is_allowed, name))
    if not allowed or name != name.strip() or name != printable(name):
        raise InvalidArgument.field(
            "collection.name",
            'must be 1 to 128 letters, digits, "-", "_", "." or spaces, and begin with a letter or digit',
        )
    return name


def _is_allowed(char: str) -> bool:
    return char.isalnum() or char in "-_. " or unicodedata.category(char) in _MARKS


def check_settings(settings: collection_pb2.CollectionSettings, deployment: collection_pb2.CollectionSettings) -> None:
    """Raise InvalidArgument for settings that contradict each other, or the deployment's additions to them."""
    chunking = resolve(deployment.chunking, settings.chunking)
    if chunking.parent_child and chunking.child_size > chunking.parent_size:
        raise InvalidArgument.field("collection.settings.chunking.child_size", "must not exceed parent_size")
    registry.check(chunking)


def nearness(scope: Scope, collection: collection_pb2.Collection, name_or_id: str) -> int:
    """Return a collection's precedence among those of the same name; the lowest number wins."""
    if collection.id == name_or_id:
        return 0
    if collection.visibility in OPEN_TO_ALL:
        return 2
    if collection.owner_id == scope.user_id:
        return 1
    return 3 if any(is_for(scope, grant) for grant in collection.grants) else 4


def ambiguous(name: str, found: Sequence[collection_pb2.Collection]) -> InvalidArgument:
    """Return the error for a name of several collections that other users share with the caller."""
    ids = ", ".join(sorted(one.id for one in found)[:10])
    return InvalidArgument.field(
        "collection", f"'{name}' is the name of several collections of other users; give the id of one: {ids}"
    )


def check_grants(collection: collection_pb2.Collection) -> None:
    """Fill in the access where none is given; InvalidArgument for grants that cannot be stored."""
    if not collection.grants:
        return
    if collection.visibility != collection_pb2.VISIBILITY_PRIVATE:
        raise InvalidArgument.field(
            "collection.grants", "are for private collections: every user of the tenant sees this one. Clear them"
        )
    if len(collection.grants) > MOST_GRANTS:
        raise InvalidArgument.field("collection.grants", f"must be at most {MOST_GRANTS}")
    seen: set[tuple[str, str]] = set()
    for index, grant in enumerate(collection.grants):
        field = f"collection.grants[{index}]"
        _check_grant(field, grant)
        if (key := _grantee(grant)) in seen:
            raise InvalidArgument.field(field, "names a user or group a second time")
        seen.add(key)


def _check_grant(field: str, grant: collection_pb2.Grant) -> None:
    kind = grant.WhichOneof("grantee")
    if kind is None:
        raise InvalidArgument.field(field, "must name a user_id or a group")
    if kind == "user_id" and not NAME.fullmatch(grant.user_id):
        raise InvalidArgument.field(f"{field}.user_id", RULE)
    if kind == "group" and not GROUP.fullmatch(grant.group):
        raise InvalidArgument.field(f"{field}.group", GROUP_RULE)
    if grant.access not in collection_pb2.Access.values():
        raise InvalidArgument.field(f"{field}.access", f"has no value {grant.access}")
    grant.access = grant.access or collection_pb2.ACCESS_READ


def _grantee(grant: collection_pb2.Grant) -> tuple[str, str]:
    kind = grant.WhichOneof("grantee")
    return ("user", grant.user_id) if kind == "user_id" else ("group", grant.group)

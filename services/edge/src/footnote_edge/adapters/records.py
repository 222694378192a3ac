"""Turns rows into records: dataclasses of edge's packages, whose fields are named as the columns."""

from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from footnote_database.times import utc

from footnote_edge.adapters.tables import Base

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def record(kind: type[R], row: Base) -> R:
    """Return a row as a record; its times are in UTC."""
    values = {one.name: getattr(row, one.name) for one in fields(kind)}
    return kind(**{name: utc(value) if isinstance(value, datetime) else value for name, value in values.items()})

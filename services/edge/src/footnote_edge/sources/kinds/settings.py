"""Settings shared by several kinds."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class Selecting(BaseModel):
    """Settings that select items by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    include: tuple[Pattern, ...] = Field(
        default=(), max_length=100, description="Only names that match one of these; * is any text. None means all."
    )
    exclude: tuple[Pattern, ...] = Field(
        default=(), max_length=100, description="No names that match one of these; * is any text."
    )


def file_name(path: str) -> str:
    """Return the last component of a path, as a document's file name."""
    return path.rstrip("/").rpartition("/")[2][:200] or "item"

"""The manifest of a backup, with a checksum per file; written last, so that a folder without it is no backup."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from footnote_cli.errors import CommandError

FILE = "manifest.json"
FORMAT = 1
_PIECE = 1 << 20


class File(BaseModel):
    """A file of a backup: size in bytes, and SHA-256 in hexadecimal digits."""

    model_config = ConfigDict(extra="forbid")

    size: int
    sha256: str


class Database(BaseModel):
    """A database of a backup: the file of its copy, whether that is a PostgreSQL dump, and its schema."""

    model_config = ConfigDict(extra="forbid")

    file: str
    postgresql: bool = False
    schema_version: str = ""


class Manifest(BaseModel):
    """The whole backup."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    version: str
    """The release of Footnote."""
    create_time: str
    databases: dict[str, Database] = Field(default_factory=dict)
    spaces: dict[str, int] = Field(default_factory=dict)
    """Row counts of the vector store's collections."""
    left_out: list[str] = Field(default_factory=list)
    """What the backup does not contain, as texts."""
    files: dict[str, File] = Field(default_factory=dict)
    """The files by their paths in the backup."""


def checksum(path: Path) -> File:
    """Return size and checksum of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as handle:
        while piece := handle.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return File(size=size, sha256=digest.hexdigest())


def write(folder: Path, manifest: Manifest) -> None:
    """Add the checksums of all files in a folder, and write the manifest there atomically."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            manifest.files[path.relative_to(folder).as_posix()] = checksum(path)
    temporary = folder / f".{FILE}"
    with temporary.open("w", encoding="utf-8") as handle:
        handle.write(manifest.model_dump_json(indent=2) + "\n")
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(folder / FILE)


def read(folder: Path) -> Manifest:
    """Return the manifest of a backup after checking that every file is intact. Raises CommandError."""
    try:
        content: Any = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        hint = "Name the folder that `footnote admin backup` made; an interrupted backup has no manifest."
        raise CommandError(f"{folder} is not a complete backup: its {FILE} cannot be read.", hint) from None
    made = content.get("format") if isinstance(content, dict) else None
    if isinstance(made, int) and made > FORMAT:
        raise CommandError(
            f"{folder} was made by a later release (format {made}).", "Restore it with that release or a newer one."
        )
    try:
        manifest = Manifest.model_validate(content)
    except ValidationError:
        raise CommandError(f"{folder / FILE} is damaged.", "Take another backup.") from None
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise CommandError(f"{folder / FILE} names {name}, outside of the backup.", "Take another backup.")
        if not path.is_file():
            raise CommandError(f"{name} is missing in the backup {folder}.", "Take another backup.")
        if checksum(path) != expected:
            raise CommandError(f"{name} in the backup {folder} is damaged.", "Take another backup.")
    return manifest

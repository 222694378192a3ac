"""Decodes samples of everything stored as bytes, newest first, and counts what cannot be read."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from footnote_database import integrity
from footnote_database.storage import Sample

from footnote_cli.admin.deployment import Deployment
from footnote_cli.admin.findings import Finding, ok, warning

MOST = 500
"""Values of each kind that are decoded."""


def examine(deployment: Deployment) -> Iterator[Finding]:
    """Decode samples of the databases that are local files; a schema of another release has a finding of its own."""
    for service, data in deployment.services.items():
        for sample in data.samples:
            file = deployment.database(sample.database).file
            if file is not None and file.exists():
                with contextlib.suppress(sqlite3.Error):
                    yield from _examine(service, sample, file)


def _examine(service: str, sample: Sample, file: Path) -> Iterator[Finding]:
    check, unread, total = f"{sample.name} of {service}", 0, 0
    with integrity.read_only(file) as connection:
        for row in connection.execute(f"{sample.query} LIMIT {MOST}"):
            total += 1
            try:
                sample.read(*row)
            except ValueError:
                unread += 1
    if unread:
        yield warning(
            check,
            f"{unread} of the {total} newest cannot be read: damaged, or written by an unknown release",
            f"{sample.effect} Put back a copy of {file} from before, if there is one.",
        )
    elif total:
        yield ok(check, f"the {total} newest can be read")

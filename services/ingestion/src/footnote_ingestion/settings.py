"""Settings of the ingestion service, read once from the environment (prefix FOOTNOTE_INGESTION_)."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from footnote_kit.errors import FailedPrecondition
from footnote_kit.private import child_environment
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.worker.isolation import Mode, Workers

MIB = 1024 * 1024


class Settings(BaseSettings):
    """The settings of a deployment; every limit is per file."""

    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_INGESTION_", extra="ignore")

    database_url: str = ""
    """SQLAlchemy URL: empty for SQLite under the data folder, `postgresql://…` for PostgreSQL."""
    blob_url: str = ""
    """Where files are kept: empty for the data folder, or `s3://bucket/prefix`, `gs://…`, `az://…`."""
    blob_options: dict[str, str] = Field(default_factory=dict)
    """Options of the object store by its own names, as in `{"endpoint": "http://minio:9000"}`; a JSON object."""
    max_file_bytes: int = Field(default=10 * MIB, ge=1)
    """Largest file accepted."""
    max_documents: int = Field(default=0, ge=0)
    """Maximum documents of a collection unless the upload says otherwise; 0 for no limit."""
    parse_seconds: float = Field(default=60.0, gt=0)
    """Time limit for parsing one file."""
    parse_memory_bytes: int = Field(default=1024 * MIB, ge=64 * MIB)
    """Memory limit for parsing one file."""
    inspect_seconds: float = Field(default=15.0, gt=0)
    """Time limit of the check before storing."""
    workers: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, le=64)
    """Files parsed at the same time, each in its own process, and one more for a tenant without any of these."""
    isolation: Mode = "auto"
    """Isolation of worker processes: `auto` as far as the kernel supports, `off`, or `required`.

    With `required`, the service does not start unless all kinds of isolation are available.
    """
    worker_uid: int = Field(default=0, ge=0, lt=2**31)
    """User id for worker processes, if the service runs as root; 0 keeps the service's own."""
    files_per_worker: int = Field(default=200, ge=1)
    """Files of one tenant after which a worker is replaced by a fresh one."""
    max_waiting: int = Field(default=256, ge=1)
    """Files that may wait for a worker; further ones are refused, to be retried later."""
    max_pages: int = Field(default=10_000, ge=1)
    """Pages or slides of a file."""
    max_rows: int = Field(default=1_000_000, ge=1)
    """Rows of a sheet."""
    max_characters: int = Field(default=50_000_000, ge=1)
    """Characters of extracted text."""
    max_decompressed_bytes: int = Field(default=512 * MIB, ge=1)
    """Bytes that a zipped format may unpack to."""
    max_compression_ratio: int = Field(default=250, ge=1)
    """How many times its size a zipped format may unpack to."""
    ocr_languages: str = Field(default="", pattern=r"^([A-Za-z_]+(\+[A-Za-z_]+)*)?$")
    """OCR languages (tesseract) for scanned pages and pictures within documents, as in `eng+fra`; empty for no OCR.

    Raise `parse_seconds` too: a page or picture takes about a second.
    """
    table_queries: int = Field(default=10, ge=1, le=64)
    """Concurrent queries over tables, each in its own process."""
    query_seconds: float = Field(default=10.0, gt=0)
    """Processor time limit of one table query's process, half of it for the statement."""
    query_memory_bytes: int = Field(default=300 * MIB, ge=128 * MIB)
    """Memory limit of one table query's process."""
    sweep_seconds: float = Field(default=60.0, gt=0)
    """How often to look for leftover files and expired documents."""
    deletions_hours: float = Field(default=24.0, gt=0)
    """How long an interrupted watch can still learn of deletions."""

    @property
    def demands_isolation(self) -> bool:
        """Whether the service must know the isolation of its workers before it starts."""
        return self.isolation == "required" or bool(self.worker_uid)

    def worker_processes(self, scratch: Path) -> Workers:
        """Return the configuration of worker processes; raises `FailedPrecondition` for an invalid user id."""
        if self.worker_uid and os.geteuid() != 0:
            raise FailedPrecondition("FOOTNOTE_INGESTION_WORKER_UID needs the service to run as root")
        if self.worker_uid and self.isolation == "off":
            raise FailedPrecondition(
                "FOOTNOTE_INGESTION_WORKER_UID has no effect with FOOTNOTE_INGESTION_ISOLATION=off"
            )
        # Only OCR needs a program; without it, workers start none.
        tesseract = shutil.which("tesseract") if self.ocr_languages else None
        return Workers(
            self.parse_memory_bytes,
            scratch,
            self.isolation,
            self.worker_uid,
            programs=[tesseract] if tesseract else [],
        )

    def ocr_problem(self) -> str:
        """Return a sentence on why OCR cannot work as it is set, "" where it can; it blocks on a program."""
        if not self.ocr_languages:
            return ""
        variable, program = "FOOTNOTE_INGESTION_OCR_LANGUAGES", shutil.which("tesseract")
        if program is None:
            return f"{variable} is set, but the OCR program tesseract is not installed: scans are refused"
        try:
            listed = subprocess.run(
                [program, "--list-langs"], capture_output=True, check=False, timeout=10, env=child_environment()
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{variable} is set, but the OCR program {program} does not start: {type(error).__name__}"
        known = (listed.stdout + listed.stderr).decode(errors="replace").split()
        if lacking := sorted(set(self.ocr_languages.split("+")).difference(known)):
            return f"{variable} names languages that tesseract does not have here: {', '.join(lacking)}"
        return ""

    def query_processes(self, workers: Workers) -> Workers:
        """Return the configuration of table query processes: they start no program and unpack larger files."""
        return replace(workers, memory_bytes=self.query_memory_bytes, file_bytes=256 * MIB, programs=(), work="tables")

    def limits(self) -> Limits:
        """Return the limits that parsers enforce themselves."""
        return Limits(
            pages=self.max_pages,
            rows=self.max_rows,
            characters=self.max_characters,
            decompressed_bytes=self.max_decompressed_bytes,
            ratio=self.max_compression_ratio,
            ocr_languages=self.ocr_languages,
        )

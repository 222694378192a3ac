"""An in-memory engine for kept tables, locked before the first statement."""

from __future__ import annotations

from pathlib import Path

import duckdb

from footnote_ingestion.tables.opened import OpenArchives

_SETTINGS = (
    "SET temp_directory=''",
    "SET python_enable_replacements=false",
    "SET parquet_metadata_cache=true",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)


class Session:
    """A locked engine, created once per process and before the sandbox: at its start it inspects the machine.

    It opens only files in `folder`, and uses half of the process's memory and one thread. Later statements cannot
    change any setting.
    """

    def __init__(self, folder: Path, process_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.memory = f"{process_bytes // 2 >> 20}MiB"
        # A process with other threads cannot get a user namespace of its own.
        self.connection = duckdb.connect(config={"threads": 1, "async_threads": 0, "memory_limit": self.memory})
        self.connection.execute(f"SET allowed_directories=['{folder}/']")
        for statement in _SETTINGS:
            self.connection.execute(statement)
        self.archives = OpenArchives(self.connection, folder)

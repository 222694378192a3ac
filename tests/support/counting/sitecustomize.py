"""Counts what a process of services does, for benchmarks that put this folder on its PYTHONPATH.

Statements and commits by database, calls of our contracts by method, rounds of event loops, and jobs given to the
threads of SQLite connections; as JSON in the file FOOTNOTE_COUNTS, with ".<pid>" behind, whenever SIGUSR2 comes.
"""

import asyncio
import collections
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNTS: collections.Counter[str] = collections.Counter()


def _write(*_: Any) -> None:
    path = Path(f"{os.environ['FOOTNOTE_COUNTS']}.{os.getpid()}")
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(COUNTS))
    part.replace(path)


def _count(what: str, connection: Any) -> None:
    COUNTS[f"{Path(connection.engine.url.database or '?').stem}: {what}"] += 1


def _statements(module: Any) -> None:
    from sqlalchemy import event

    event.listen(module.Engine, "before_cursor_execute", lambda connection, *_: _count("statements", connection))
    event.listen(module.Engine, "commit", lambda connection: _count("commits", connection))


def _jobs(module: Any) -> None:
    run = module.Connection._execute

    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        COUNTS["jobs of SQLite's threads"] += 1
        return run(self, *arguments, **options)

    module.Connection._execute = counted


def _calls(module: Any) -> None:
    begin = module._Call.__init__

    def counted(self: Any, service: str, method: str, *rest: Any) -> None:
        COUNTS["calls, all"] += 1
        COUNTS[f"calls: {method.rpartition('.')[2]}"] += 1
        begin(self, service, method, *rest)

    module._Call.__init__ = counted


_PATCHES: dict[str, Callable[[Any], None]] = {
    "sqlalchemy": _statements,
    "footnote_database.cancel_safe": _jobs,
    "footnote_kit.interceptor": _calls,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Has modules patched as they are loaded, so that nothing is loaded for being counted."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        patch = _PATCHES.pop(fullname, None)
        if patch is None:
            return None
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        load = spec.loader.exec_module

        def loaded(module: Any) -> None:
            load(module)
            patch(module)

        spec.loader.exec_module = loaded  # type: ignore[method-assign]
        return spec


def _begin() -> None:
    sys.meta_path.insert(0, _Finder())
    signal.signal(signal.SIGUSR2, _write)
    once = asyncio.BaseEventLoop._run_once  # type: ignore[attr-defined]

    def counted(self: Any) -> None:
        COUNTS["rounds of event loops"] += 1
        once(self)

    asyncio.BaseEventLoop._run_once = counted  # type: ignore[attr-defined]


if "FOOTNOTE_COUNTS" in os.environ:
    _begin()

"""Structured logs: JSON lines on stderr, or short lines on a terminal, with the ids of the call.

A shortage of descriptors or memory makes every connection fail alike; it is logged as one sentence now and then.
"""

import errno
import io
import logging
import os
import sys
import textwrap
import time
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog
from opentelemetry import trace

from footnote_kit.context import current_scope, current_service, request_id
from footnote_kit.printable import printable, printable_line
from footnote_kit.redact import redact
from footnote_kit.settings import KitSettings


def _add_call(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add service, request, tenant, trace and span, as far as they exist."""
    if service := current_service():
        event.setdefault("service", service)
    if request := request_id():
        event.setdefault("request_id", request)
    if scope := current_scope():
        event.setdefault("tenant_id", scope.tenant_id)
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = f"{context.trace_id:032x}"
        event["span_id"] = f"{context.span_id:016x}"
    return event


def _add_source(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the name of the library that logs."""
    event["source"] = event["_record"].name
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _add_call,
]


def _shorten(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove what is useless to a person: the library, empty values, and the stage where a service is named."""
    if "service" in event and "stage" in event:
        del event["stage"]
    return {key: value for key, value in event.items() if value is not None and key != "source"}


def _readable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove characters that would affect a terminal; JSON escapes them by itself."""
    return {printable_line(key): _shown(value) for key, value in event.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return printable_line(value)
    # The renderer shows other objects by their repr, and a passed exception by its traceback.
    return (
        value if isinstance(value, BaseException | tuple | bool | int | float | None) else printable_line(repr(value))
    )


def _traceback(out: TextIO, error: Any) -> None:
    """Write a traceback whose message can neither affect a terminal nor pose as another log line."""
    text = io.StringIO()
    structlog.dev.plain_traceback(text, error)
    out.write(textwrap.indent(printable(text.getvalue()), "    "))


def _clean(_logger: Any, _method: str, line: str) -> str:
    """Remove secrets from the finished line, including tracebacks and messages of libraries."""
    return redact(line)


def _human() -> list[Any]:
    return [
        _shorten,
        _readable,
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback),
        _clean,
    ]


def _json() -> list[Any]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str), _clean]


class _Discretion(logging.Filter):
    """Limits the logs of libraries to warnings; at level debug, to information messages.

    Their debug messages would contain every statement with its values and every request with its prompt. Some
    libraries raise their own level by a variable, so the root level alone would not suffice.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        self._libraries = logging.INFO if level == logging.DEBUG else max(level, logging.WARNING)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        family = record.name.partition(".")[0]
        if family.startswith("footnote"):
            return True
        return record.levelno >= (logging.WARNING if family in _ADDRESSES else self._libraries)


_ADDRESSES = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "urllib3"})
"""Libraries whose information messages contain addresses, which may include a key."""


_writers: list[tuple[TextIO, structlog.WriteLogger]] = []


def _writer(*_: Any) -> structlog.WriteLogger:
    """Return the writer to the current stderr: each call of a logger asks for one, and a new one looks up its lock."""
    if not _writers or _writers[0][0] is not sys.stderr:
        _writers[:] = [(sys.stderr, structlog.WriteLogger(sys.stderr))]
    return _writers[0][1]


def for_people(settings: KitSettings) -> bool:
    """Return whether lines are short ones for people, not JSON."""
    return settings.log_format == "human" or (settings.log_format == "auto" and sys.stderr.isatty())


def configure(settings: KitSettings) -> None:
    """Set up logging for the process, including libraries that use the standard module."""
    render = _human() if for_people(settings) else _json()
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=[*_SHARED, *render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_writer,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_SHARED, _add_source],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    handler.addFilter(_Discretion(level))
    handler.addFilter(ShortageFilter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO if level == logging.DEBUG else max(level, logging.WARNING))
    logging.getLogger("footnote").setLevel(level)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger, for calls like `log.info("document_indexed", chunks=12)`: a snake_case event and keywords."""
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(source=name)
    return logger


# Until `configure` runs, in tests and tools: warnings only, as JSON.
structlog.configure(
    processors=[*_SHARED, *_json()],
    wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    logger_factory=_writer,
    cache_logger_on_first_use=False,
)


SHORTAGE_PAUSE_SECONDS = 60.0
"""Seconds between two such lines of a process."""
_SHORTAGES = {
    errno.EMFILE: "This process has as many files and connections open as it may; raise its limit (ulimit -n)",
    errno.ENFILE: "This machine has as many files and connections open as it may; raise fs.file-max",
    errno.ENOMEM: "This machine has no memory left for what this process asks",
}
_MOST_CAUSES = 10


class ShortageFilter(logging.Filter):
    """Replaces the traceback of such a record by what to do, and counts the records until the next line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._next = float("-inf")
        self._held = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        error = record.exc_info[1] if record.exc_info else None
        number = _shortage(error)
        if number is None:
            return True
        now = self._clock()
        if now < self._next:
            self._held += 1
            return False
        more = f"; {self._held} more such errors since the last line" if self._held else ""
        record.msg, record.args = f"{_SHORTAGES[number]}: {os.strerror(number)}{more}", ()
        record.exc_info = record.exc_text = None
        self._next, self._held = now + SHORTAGE_PAUSE_SECONDS, 0
        return True


def _shortage(error: BaseException | None) -> int | None:
    """Return the error number of a shortage, which may be the cause of an error."""
    for _ in range(_MOST_CAUSES):
        if error is None:
            return None
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            return error.errno
        error = error.__cause__ or error.__context__
    return None

"""Structured logs: JSON lines on stderr, or short lines on a terminal, with the ids that tie them to a call."""

import io
import logging
import sys
import textwrap
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from opentelemetry import trace

from footnote_kit.context import current_scope, current_service, request_id
from footnote_kit.printable import printable, printable_line
from footnote_kit.redact import redact
from footnote_kit.settings import KitSettings


def _add_call(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add service, request, tenant, trace and span, where there are any."""
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
    """Add the name of the library that speaks."""
    event["source"] = event["_record"].name
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _add_call,
]


def _shorten(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Leave out what tells a person nothing: the library where a service is named, and what has no value."""
    if "service" in event and "stage" in event:
        del event["stage"]
    return {key: value for key, value in event.items() if value is not None and key != "source"}


def _readable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Leave nothing in an event that would act on the screen; JSON escapes such things itself."""
    return {printable_line(key): _shown(value) for key, value in event.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return printable_line(value)
    # The renderer shows other things by their repr, and an exception that was handed over by its traceback.
    return (
        value if isinstance(value, BaseException | tuple | bool | int | float | None) else printable_line(repr(value))
    )


def _traceback(out: TextIO, error: Any) -> None:
    """Write a traceback whose message acts on no screen and poses as no other line."""
    text = io.StringIO()
    structlog.dev.plain_traceback(text, error)
    out.write(textwrap.indent(printable(text.getvalue()), "    "))


def _clean(_logger: Any, _method: str, line: str) -> str:
    """Cut secrets out of the finished line, tracebacks and foreign libraries' words included."""
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
    """Lets libraries speak up only when something is wrong, or with debug of what they do without its texts.

    At debug they would log every statement with its values, every request with its prompt; some raise their own level
    when a variable asks them to, so that the root's alone would not do.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        self._libraries = logging.INFO if level == logging.DEBUG else max(level, logging.WARNING)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown."""
        family = record.name.partition(".")[0]
        if family.startswith("footnote"):
            return True
        return record.levelno >= (logging.WARNING if family in _ADDRESSES else self._libraries)


_ADDRESSES = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "urllib3"})
"""Libraries whose information is addresses, which may hold a key."""


def configure(settings: KitSettings) -> None:
    """Set up logging for the process, also for libraries that use the standard module."""
    human = settings.log_format == "human" or (settings.log_format == "auto" and sys.stderr.isatty())
    render = _human() if human else _json()
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=[*_SHARED, *render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
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
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO if level == logging.DEBUG else max(level, logging.WARNING))
    logging.getLogger("footnote").setLevel(level)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger; `log.info("document_indexed", chunks=12)`: an event in snake_case and its facts as keywords."""
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(source=name)
    return logger


# Before `configure`, in tests and tools: warnings only, as JSON.
structlog.configure(
    processors=[*_SHARED, *_json()],
    wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
    cache_logger_on_first_use=False,
)

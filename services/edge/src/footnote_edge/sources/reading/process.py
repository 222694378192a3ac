"""The reading process: each request is a line and the bytes that it announces, each response a line.

It has no secrets, little memory, and writes no files. Each request has a limit of processor time, after which the
kernel ends the process; so a busy machine makes reading slow, but no request fails.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

_MEMORY = 1024 * 1024 * 1024
_FILE_BYTES = 0


def _page(request: dict[str, Any], data: bytes) -> Any:
    from footnote_edge.sources.reading.pages import read_page

    return read_page(data, str(request["encoding"]), str(request["base"]))


def _feed(request: dict[str, Any], data: bytes) -> Any:
    from footnote_edge.sources.reading.feeds import read_feed

    return read_feed(data, str(request["base"]))


def _sitemap(request: dict[str, Any], data: bytes) -> Any:
    from footnote_edge.sources.reading.feeds import read_sitemap

    return read_sitemap(data)


_TASKS: dict[str, Callable[[dict[str, Any], bytes], Any]] = {"page": _page, "feed": _feed, "sitemap": _sitemap}


def main() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while line := source.readline():
        request = json.loads(line)
        data = source.read(request["bytes"])
        signal.setitimer(signal.ITIMER_PROF, float(request["seconds"]))
        try:
            answer = {"result": _TASKS[request["task"]](request, data)}
        except ValueError as error:
            answer = {"error": str(error)[:500]}
        except (RecursionError, MemoryError, Exception) as error:
            answer = {"error": f"It cannot be read: {type(error).__name__}."}
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.write(json.dumps(answer).encode("ascii") + b"\n")
        target.flush()


if __name__ == "__main__":
    main()

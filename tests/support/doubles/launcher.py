"""Lets a process of the launcher run empty services instead of the real ones; as a program, one part of a launch."""

import ast
import os
import sys
from importlib import import_module
from typing import NoReturn

from footnote_cli import service_process, supervise


def install() -> None:
    """Replace the services; the variable BUILD_<service> selects another function of `support.doubles.services`."""
    supervise.found = lambda group, service: getattr(  # type: ignore[assignment]
        import_module("support.doubles.services"), os.environ.get("BUILD_" + service, "build_" + service)
    )


def run() -> NoReturn:
    """Serve with empty services, as the only argument says: the launcher's own arguments, as Python writes a dict."""
    from footnote_cli.launcher import serve

    install()
    service_process.MODULE = __name__
    arguments = ast.literal_eval(sys.argv[1])
    sys.exit(serve(arguments.pop("target"), **arguments))


if __name__ == "__main__":
    install()
    service_process.main()

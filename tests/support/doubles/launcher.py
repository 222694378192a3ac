"""Lets a process of the launcher run empty services instead of the real ones; as a program, one part of a launch."""

import os
from importlib import import_module

from footnote_cli import service_process, supervise


def install() -> None:
    """Replace the services; the variable BUILD_<service> selects another function of `support.doubles.services`."""
    supervise.found = lambda group, service: getattr(  # type: ignore[assignment]
        import_module("support.doubles.services"), os.environ.get("BUILD_" + service, "build_" + service)
    )


if __name__ == "__main__":
    install()
    service_process.main()

"""Has a process of the launcher run small stand-ins for the services; as a program, one part of such a launch."""

import os
from importlib import import_module

from footnote_cli import part, supervise


def install() -> None:
    """Replace the services; BUILD_<service> names another one of the stand-ins."""
    supervise.found = lambda group, service: getattr(  # type: ignore[assignment]
        import_module("support.guinea_pigs"), os.environ.get("BUILD_" + service, "build_" + service)
    )


if __name__ == "__main__":
    install()
    part.main()

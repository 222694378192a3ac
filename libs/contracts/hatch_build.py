"""Build hook of footnote-client: generates the contracts from protos/ and adds the parts of kit that it imports."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ClientBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate into src/footnote; into a wheel put the files of kit that `footnote` leaves to this distribution."""
        if self.target_name != "wheel":
            raise RuntimeError("footnote-client is built as a wheel, from the whole tree: hatchling build -t wheel")
        if importlib.util.find_spec("grpc_tools") is None:  # pragma: no cover - build requirement
            raise RuntimeError("grpcio-tools is a build requirement; install with build isolation on")
        contracts = Path(self.root)
        subprocess.run([sys.executable, str(contracts / "generate.py")], check=True, cwd=contracts)
        if version == "editable":
            return  # the folder of kit itself is on the path
        tree = contracts.parents[1]
        for path in kit_of_the_client(tree):
            build_data["force_include"][str(path)] = f"footnote_kit/{path.name}"


def kit_of_the_client(tree: Path) -> list[Path]:
    """Return the files of kit that belong to the client's wheel: those that the wheel of `footnote` excludes."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())
    excluded: list[str] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
    return [tree / name.lstrip("/") for name in excluded]

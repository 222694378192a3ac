"""Build hook: generates the Python contracts from protos/ whenever the project is built or installed."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProtosBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs the generator before files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate into libs/contracts/src; `artifacts` in pyproject.toml puts the result into the wheel."""
        script = Path(self.root) / "libs" / "contracts" / "generate.py"
        if importlib.util.find_spec("grpc_tools") is None:  # pragma: no cover - build requirement
            raise RuntimeError("grpcio-tools is a build requirement; install with build isolation on")
        subprocess.run([sys.executable, str(script)], check=True, cwd=self.root)

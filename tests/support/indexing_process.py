"""An indexing service in a process of its own, to be killed: `python -m support.indexing_process DATA URI`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from footnote_indexing.app import build
from footnote_kit.credential import ServiceCredential
from footnote_kit.testing import SECRET, serve_app


async def main(data_dir: str, uri: str) -> None:
    """Serve until the process ends; prints the address."""
    credential = ServiceCredential(os.environ["FOOTNOTE_SERVICE_TOKEN"])
    async with serve_app(build, data_dir=Path(data_dir), vector_store_uri=uri, credential=credential) as served:
        print(served.address, flush=True)
        await asyncio.Event().wait()


class IndexingProcess:
    """The process as a test holds it."""

    def __init__(self, data_dir: Path, uri: str, **environment: str) -> None:
        root = Path(__file__).resolve().parents[1]
        path = os.pathsep.join([str(root), *sys.path])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.indexing_process", str(data_dir), uri],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "FOOTNOTE_SERVICE_TOKEN": SECRET, **environment},
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert self.address, "the service did not start"

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))

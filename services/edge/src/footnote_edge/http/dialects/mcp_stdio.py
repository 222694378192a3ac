"""The MCP server on stdin and stdout, for programs that start it: `python -m footnote_edge.http.dialects.mcp_stdio`.

It calls edge at FOOTNOTE_EDGE_ADDRESS with the key in FOOTNOTE_API_KEY; an answer has the seconds in
FOOTNOTE_EDGE_ASK_TIMEOUT_SECONDS.
"""

import asyncio
import os

from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub
from footnote_kit.settings import KitSettings

from footnote_edge.http.dialects.mcp_tools import server
from footnote_edge.settings import Settings


async def serve(address: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
    """Serve MCP on stdin and stdout until the input ends; calls edge at `address` with `metadata`."""
    of_ask = {"timeout": Settings().ask_timeout_seconds}
    async with open_channel(address, peer="edge") as channel:
        stub = EdgeStub(channel)
        tools = server(stub, lambda _, name: {"metadata": metadata, **(of_ask if name == "Ask" else {})}, "")
        await tools.run_stdio_async()


def main() -> None:
    """Serve with the settings in the environment."""
    key = os.environ.get("FOOTNOTE_API_KEY", "")
    metadata = (("authorization", f"Bearer {key}"),) if key else ()
    asyncio.run(serve(KitSettings().edge_address, metadata))


if __name__ == "__main__":
    main()

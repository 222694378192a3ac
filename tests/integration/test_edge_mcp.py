"""The product as MCP tools, with the official client: over HTTP, and on stdin and stdout."""

import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from footnote_edge.app import build
from footnote_kit.testing import Served, serve_app
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from support.doubles.stages import World, serve_doubles
from support.edge_client import edge_client


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """Edge that holds one document."""
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses) as running:
        async with edge_client(running.address) as client:
            await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
        yield running


async def call(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return result.structured_content or json.loads(result.content[0].text)  # type: ignore[union-attr]


async def converse(client: Client) -> None:
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert tools == {"search", "ask", "list_collections", "list_documents"}
    collections = await call(client, "list_collections")
    assert [one["name"] for one in collections["collections"]] == ["default"]
    documents = await call(client, "list_documents", collection="default")
    assert [(one["filename"], one["state"]) for one in documents["documents"]] == [("tea.txt", "indexed")]
    found = await call(client, "search", query="tea", limit=3)
    assert found["passages"][0]["text"] == "Tea is brewed at 80 degrees."
    answer = await call(client, "ask", question="tea ?")
    assert answer["answer"] == "Tea is brewed at 80 degrees. [1]"
    assert answer["footnotes"][0]["quote"] == "Tea is brewed at 80 degrees."
    refused = await client.call_tool("ask", {"question": " "})
    assert refused.is_error
    assert "must not be empty" in str(refused.content)
    assert (await client.call_tool("ask", {"question": "tea ?", "collections": ["nowhere"]})).is_error


async def test_a_client_converses_over_http(served: Served) -> None:
    async with Client(f"http://{served.runtime.announced['http']}/mcp") as client:
        await converse(client)


async def test_a_client_converses_on_stdin_and_stdout(served: Served) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "FOOTNOTE_EDGE_ADDRESS": served.address,
    }
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "footnote_edge.http.dialects.mcp_stdio"], env=environment
    )
    async with Client(stdio_client(program)) as client:
        await converse(client)


async def test_what_an_answer_lacks_is_said_to_agents_and_programs() -> None:
    warning = "Nothing was computed: the numbers are in EUR and USD."
    async with serve_doubles(World(warnings=[warning])) as addresses, serve_app(build, addresses=addresses) as running:
        base = f"http://{running.runtime.announced['http']}"
        async with Client(f"{base}/mcp") as client:
            answer = await call(client, "ask", question="tea ?")
        assert (answer["warnings"], answer["uncited"]) == ([warning], 0)
        body = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}]}
        async with httpx2.AsyncClient(base_url=base, timeout=60) as http:
            said = (await http.post("/v1/chat/completions", json=body)).json()
        assert said["footnote"]["warnings"] == [warning]

"""Other people's clients against the real services: the openai SDK and an MCP client hold a conversation."""

import json
from typing import Any

import openai
import pytest
from mcp.client import Client
from support.deployment import Deployment

pytestmark = pytest.mark.slow

QUESTION = "How much is the daily travel allowance abroad?"


async def test_the_openai_sdk_converses(running: Deployment, handbook: str) -> None:
    client = openai.AsyncOpenAI(base_url=f"http://{running.address('http')}/v1", api_key="none", max_retries=0)
    try:
        assert handbook in [model.id async for model in client.models.list()]
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        whole = await client.chat.completions.create(model=handbook, messages=messages)
        message = whole.choices[0].message
        assert message.content is not None
        assert "54 euros" in message.content
        assert message.annotations
        cited = message.annotations[0].url_citation
        assert cited.title.startswith("handbook.pdf, page 3")
        assert cited.url.endswith("#page=3")
        assert message.content[cited.start_index : cited.end_index]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": "And at home?"}]
        text = ""
        async for chunk in await client.chat.completions.create(model=handbook, messages=messages, stream=True):
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
        assert text.strip()
    finally:
        await client.close()


async def test_an_mcp_client_converses(running: Deployment, handbook: str) -> None:
    async with Client(f"http://{running.address('http')}/mcp") as client:
        answer = await client.call_tool("ask", {"question": QUESTION, "collections": [handbook]})
        said = answer.structured_content or json.loads(answer.content[0].text)  # type: ignore[union-attr]
        assert "54 euros" in said["answer"]
        assert said["footnotes"][0]["place"].startswith("handbook.pdf, page 3")
        found = await client.call_tool("search", {"query": "passwords", "collections": [handbook], "limit": 2})
        said = found.structured_content or json.loads(found.content[0].text)  # type: ignore[union-attr]
        assert any("security.md" in passage["place"] for passage in said["passages"])

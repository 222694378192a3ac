"""The same RPCs as others speak them: OpenAI, MCP, and the wrapper of own vectors."""

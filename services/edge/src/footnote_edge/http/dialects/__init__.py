"""The RPCs in other dialects: OpenAI, MCP, and the wrapper for own vectors."""

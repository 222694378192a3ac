"""The RPC handlers of the public API, by subject: they only translate between messages and logic."""

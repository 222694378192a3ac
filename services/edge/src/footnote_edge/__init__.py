"""The public API: identity and orchestration."""

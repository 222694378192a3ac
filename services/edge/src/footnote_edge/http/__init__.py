"""The public API over HTTP: JSON, server-sent events, and compatible dialects of other APIs."""

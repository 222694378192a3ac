"""Parses untrusted pages and feeds in a separate process that has no secrets and can be killed."""

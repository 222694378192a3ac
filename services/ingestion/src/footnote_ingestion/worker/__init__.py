"""Parsing outside the service: supervised child processes that may be killed at any time."""

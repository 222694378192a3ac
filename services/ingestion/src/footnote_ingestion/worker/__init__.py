"""Parsing apart from the service: supervised child processes that may be killed at any moment."""

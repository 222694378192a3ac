"""Turns a feed entry into a standalone page."""

from html import escape


def entry_page(title: str, html: str) -> bytes:
    """Return an entry as a standalone page."""
    head = f"<!doctype html><html><head><meta charset=utf-8><title>{escape(title)}</title></head>"
    return f"{head}<body><h1>{escape(title)}</h1>{html}</body></html>".encode()

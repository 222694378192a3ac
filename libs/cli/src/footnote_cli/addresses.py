"""Finds the server to talk to."""

import json
import os
from pathlib import Path

DEFAULT_ADDRESS = "127.0.0.1:7100"
ADDRESS_VARIABLE = "FOOTNOTE_EDGE_ADDRESS"
DATA_DIR_VARIABLE = "FOOTNOTE_DATA_DIR"
DEFAULT_DATA_DIR = "footnote-data"
ADDRESSES_FILE = "addresses.json"


def edge_address(given: str | None = None) -> str:
    """Return "host:port" of the edge.

    In this order: what was given, the variable FOOTNOTE_EDGE_ADDRESS, what a serving process wrote into its data
    folder (FOOTNOTE_DATA_DIR, else ./footnote-data), the default port on this machine.
    """
    folder = Path(os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR)
    return given or os.environ.get(ADDRESS_VARIABLE) or written_address(folder / ADDRESSES_FILE) or DEFAULT_ADDRESS


def written_address(file: Path) -> str | None:
    """Return the edge's address from the file that a serving process wrote, or None when there is none to read."""
    try:
        addresses = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    address = addresses.get("edge") if isinstance(addresses, dict) else None
    return address if isinstance(address, str) and address else None

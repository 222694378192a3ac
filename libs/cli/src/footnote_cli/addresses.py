"""Finds the server to talk to."""

import json
import os
import re
from pathlib import Path

from footnote_cli.errors import usage_error

DEFAULT_ADDRESS = "127.0.0.1:7100"
ADDRESS_VARIABLE = "FOOTNOTE_EDGE_ADDRESS"
DATA_DIR_VARIABLE = "FOOTNOTE_DATA_DIR"
DEFAULT_DATA_DIR = "footnote-data"
ADDRESSES_FILE = "addresses.json"
_ADDRESS = re.compile(r"(https?://)?[^\s/]+:(\d{1,5})|(unix|dns|ipv4|ipv6):\S+")


def edge_address(given: str | None = None) -> str:
    """Return "host:port" of the edge.

    In this order: what was given, the variable FOOTNOTE_EDGE_ADDRESS, what a serving process wrote into its data
    folder (FOOTNOTE_DATA_DIR, else ./footnote-data), the default port on this machine. Raises CommandError for what
    is no address.
    """
    folder = Path(os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR)
    wanted = given or os.environ.get(ADDRESS_VARIABLE)
    return check_address(wanted) if wanted else written_address(folder / ADDRESSES_FILE) or DEFAULT_ADDRESS


def check_address(text: str) -> str:
    """Return a HOST:PORT, https://HOST:PORT or gRPC name as it is; gRPC itself would take anything and wait."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match[2] or 0) > 65535:
        raise usage_error(f"'{text}' is not an address.", "Write it as HOST:PORT, for example 127.0.0.1:7100.")
    return text.strip()


def written_address(file: Path) -> str | None:
    """Return the edge's address from the file that a serving process wrote, or None when there is none to read."""
    try:
        addresses = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    address = addresses.get("edge") if isinstance(addresses, dict) else None
    return address if isinstance(address, str) and address else None

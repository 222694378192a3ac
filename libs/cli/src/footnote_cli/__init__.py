"""The footnote command: serve, ingest, ask and the rest."""

from importlib.util import find_spec

if find_spec("typer") is None:  # installed for its client alone
    raise SystemExit("The command footnote needs more than the client: pip install 'footnote[server]'")

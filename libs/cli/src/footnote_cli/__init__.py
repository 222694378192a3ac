"""The footnote command: serve, ingest, ask and the rest."""

"""Tables of documents as data: collected during parsing, kept as Parquet, queried in the sandbox."""

LAYOUT = 1
"""How archives of tables are laid out. Raise this when it changes: older archives are made again."""

"""Tables of documents as data: collected during parsing, kept as Parquet, queried in the sandbox."""

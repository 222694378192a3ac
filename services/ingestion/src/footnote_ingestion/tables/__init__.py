"""Tables of documents as data: collected while a file is read, kept as Parquet, queried in the shut-in process."""

"""Schema migrations of the indexing service, run at every start."""

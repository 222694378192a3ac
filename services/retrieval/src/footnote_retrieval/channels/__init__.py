"""The two channels of a search and all that keeps a failing one from failing the search."""

"""The two channels of a search, and the code that keeps a failing channel from failing the search."""

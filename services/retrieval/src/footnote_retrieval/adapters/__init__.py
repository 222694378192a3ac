"""Retrieval's outside dependencies: indexing for collections, the registry for embedding providers."""

"""What retrieval reaches outside: indexing for collections, the registry for embedding providers."""

"""Sources that stay in step: what they list, what is fetched, and the documents that follow from it."""

"""Model providers, one file or folder each."""

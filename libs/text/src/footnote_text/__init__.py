"""Language-aware text: detection, search terms, sentences, tokens."""

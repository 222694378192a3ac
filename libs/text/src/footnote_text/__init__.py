"""Language-aware text processing: language detection, search terms, sentences, tokens."""

"""What a question says about how to search: language, phrases, files named in it, vectors that came with it."""

"""Analysis of a question: language, phrases, files named in it, and vectors that came with it."""

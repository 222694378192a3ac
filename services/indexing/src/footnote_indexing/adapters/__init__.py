"""What the indexing service needs from outside, one backend a file."""

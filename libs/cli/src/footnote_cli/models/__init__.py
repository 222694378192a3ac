"""Models that run on this machine: which are known, and how they are fetched."""

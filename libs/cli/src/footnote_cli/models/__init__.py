"""Models that run on this machine: the known ones, and how to fetch them."""

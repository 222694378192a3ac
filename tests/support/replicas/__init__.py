"""A cluster on one machine: replicas of every service as processes, and what callers of it get."""

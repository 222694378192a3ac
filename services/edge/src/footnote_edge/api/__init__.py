"""The RPCs of the public API, by subject: from messages to logic and back, nothing else."""

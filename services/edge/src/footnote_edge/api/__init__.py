"""The RPCs of EdgeService, by subject: from messages to logic and back, nothing else."""

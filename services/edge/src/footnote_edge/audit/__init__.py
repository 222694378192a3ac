"""The audit log: events, the RPCs that it covers, writing, reading and retention."""

"""The audit log: what an event is, which RPCs are in it, how it is written, read and deleted in time."""

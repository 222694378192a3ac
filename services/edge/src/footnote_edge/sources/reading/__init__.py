"""Pages and feeds of strangers, read in a process of their own that has no secrets and can be killed."""

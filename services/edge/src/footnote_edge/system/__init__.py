"""How a deployment is: its health, providers, traces, usage and keys."""

"""The state of a deployment: health, providers, traces, usage and keys."""

"""Egress control: the operator's policy, what counts as this machine, and the check before each provider call."""

"""Where texts may go: the operator's policy, what is on this machine, and the check before every provider's call."""

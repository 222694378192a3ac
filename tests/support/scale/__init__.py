"""Scale on paper: what services cost, a simulation of their queues, and what a region of them would need."""

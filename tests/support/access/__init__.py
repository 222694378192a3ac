"""The access matrix: who may do what to whose things, on every door, judged from outside."""

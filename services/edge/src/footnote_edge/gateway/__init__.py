"""Who calls and how much: identity, keys, roles, and the limits and shares that each call is held to."""

"""Authentication, authorisation and quotas: identity, keys, roles, limits and fair shares of each call."""

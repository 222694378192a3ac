"""Documents as values: their life cycle, queries, quotas and repeated uploads."""

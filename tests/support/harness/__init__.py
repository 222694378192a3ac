"""The harness of faults: seeded rounds of operations under faults, a model of what was acknowledged, and an audit.

`plan` says what a seed means, `caller` and `operations` do it through the public API, `world` keeps what the callers
were told, `faults` strikes the processes meanwhile, `audit`, `beneath` and `said` compare everything with that
afterwards, and `rounds` puts it together. It knows the contracts (the protos) and what lies on disk, and no logic of
the services.
"""

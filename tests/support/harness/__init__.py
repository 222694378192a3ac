"""The fault harness: seeded rounds of operations under faults, a model of what was acknowledged, and an audit.

`plan` derives a round from a seed. `caller` and the `*_steps` modules run it through the public API, and record in
`reference_model` what was acknowledged. Meanwhile `faults` kills and stops processes. Afterwards `audit`,
`storage_audit` and `message_audit` compare everything with the model. `rounds` combines them. The harness knows the
contracts (the protos) and what is on disk, but no logic of the services.
"""

"""Admission control: which call may start, when, and which is refused.

Every limit is one of four kinds. All refuse with ResourceExhausted(RATE_LIMITED) and a time to retry.

`token_bucket`
    Rate limiter: units a second with a burst, by tenant, address or connection. Edge limits requests, uploads, bytes
    and tokens a minute (`footnote_edge.gateway.limits`), and the front limits frames and connections (`front.limits`).
`fair_slots`
    Concurrency limiter with a fair queue: tenants, then users, take turns. For ingestion's parser processes and edge's
    jobs.
`concurrency`
    Concurrency limiter with load shedding: a bounded queue for each kind of call, round-robin by tenant. It refuses
    calls whose expected wait is too long. For edge's questions, uploads and other calls.
`fair_shares`
    Fair queue by past usage of the processor: while the machine is crowded, heavy tenants and users let lighter ones go
    first. For all of edge's calls and jobs.

A call to edge passes the front's limits, its tenant's rates, its fair share, and the lane of its kind. No limit
coordinates with another replica: each replica admits its part of a rate.

Three signals of load drive the limits. `loop_lag` measures how late the event loop runs its timers, for the fair
shares, and the processor time of one of its iterations, for `concurrency`. `process_load` shares the lag, and the
processor time of all services on this machine, through mapped files. `fair_slots.granted` is the rule for a call that
is cancelled just as it may start.

Calls to providers are limited by `footnote_providers.resilience`, storage and daily usage by edge's metering.
"""

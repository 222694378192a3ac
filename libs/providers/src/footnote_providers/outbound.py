"""HTTP clients for providers: they go where they were sent and nowhere else."""

import httpx2
from footnote_kit.context import request_id
from openai import DefaultAsyncHttpxClient

from footnote_providers.egress.locality import stays_here

REQUEST_ID = "X-Client-Request-Id"
"""The header by which a service's own log finds the request of ours, as OpenAI names it."""


async def _marked(request: httpx2.Request) -> None:
    """Give a request the id of the call that it serves."""
    if known := request_id():
        request.headers[REQUEST_ID] = known


def http_client(base_url: str) -> DefaultAsyncHttpxClient:
    """Return a client for one endpoint.

    Redirects are not followed: they would take texts, and perhaps a key, to an address that nobody chose. What is on
    this machine is not asked by way of a proxy. Each request carries the id of the call that it serves.
    """
    return DefaultAsyncHttpxClient(
        follow_redirects=False, trust_env=not stays_here(base_url), event_hooks={"request": [_marked]}
    )

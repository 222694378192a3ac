"""HTTP clients for providers, which connect only to the configured address."""

import httpx2
from footnote_kit.context import request_id
from footnote_kit.telemetry import provider_traceparent
from openai import DefaultAsyncHttpxClient

from footnote_providers.egress.policy import stays_here

REQUEST_ID = "X-Client-Request-Id"
"""The header that carries the request id to the provider's log; OpenAI defines the name."""


async def _marked(request: httpx2.Request) -> None:
    """Add the id of the call being served to a request, and its trace where the deployment sends that."""
    if known := request_id():
        request.headers[REQUEST_ID] = known
    if traced := provider_traceparent():
        request.headers["traceparent"] = traced


def http_client(base_url: str) -> DefaultAsyncHttpxClient:
    """Return a client for one endpoint.

    It follows no redirects: they would send texts, and perhaps a key, to an address that is not configured. It
    reaches local addresses without a proxy. Each request carries the id of the call being served.
    """
    return DefaultAsyncHttpxClient(
        follow_redirects=False, trust_env=not stays_here(base_url), event_hooks={"request": [_marked]}
    )

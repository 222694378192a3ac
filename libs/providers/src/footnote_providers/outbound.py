"""HTTP clients for providers: they go where they were sent and nowhere else."""

from openai import DefaultAsyncHttpxClient

from footnote_providers.egress.locality import stays_here


def http_client(base_url: str) -> DefaultAsyncHttpxClient:
    """Return a client for one endpoint.

    Redirects are not followed: they would take texts, and perhaps a key, to an address that nobody chose. What is on
    this machine is not asked by way of a proxy.
    """
    return DefaultAsyncHttpxClient(follow_redirects=False, trust_env=not stays_here(base_url))

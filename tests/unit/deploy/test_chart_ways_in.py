"""The ways into the chart's edge: Ingress and Gateway."""

from typing import Any

import pytest
from footnote_edge.settings import Settings as EdgeSettings
from footnote_ingestion.settings import Settings as IngestionSettings
from support.chart import HELM, kinds, once, template

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(HELM is None, reason="helm is not installed (.ci/run installs it where there is Go)"),
]
NGINX = "nginx.ingress.kubernetes.io"


def config(*given: str) -> dict[str, Any]:
    """The variables that all services share."""
    ran = template(*given)
    assert ran.returncode == 0, ran.stderr
    (found,) = [one for one in once(ran.stdout) if one["kind"] == "ConfigMap"]
    return found["data"]  # type: ignore[no-any-return]


def test_an_ingress_takes_what_edge_takes_and_cuts_no_silent_answer() -> None:
    """ingress-nginx refuses bodies above 1 MiB and ends calls that are silent for 60 s, unless told otherwise."""
    ingresses = {name: one["metadata"]["annotations"] for name, one in kinds("operators", "Ingress").items()}
    largest = max(EdgeSettings().vectors_body_bytes, IngestionSettings().max_file_bytes)
    assert int(ingresses["footnote-http"][f"{NGINX}/proxy-body-size"].removesuffix("m")) * 2**20 > largest
    assert ingresses["footnote-grpc"][f"{NGINX}/proxy-body-size"] == "0"  # streams of many files
    for one in ingresses.values():
        assert int(one[f"{NGINX}/proxy-read-timeout"]) >= EdgeSettings().watch_lifetime_seconds
        assert int(one[f"{NGINX}/proxy-send-timeout"]) >= EdgeSettings().watch_lifetime_seconds


@pytest.mark.parametrize("values", ["operators", "postgresql"])  # an Ingress, a Gateway
def test_callers_behind_one_proxy_share_nearly_all_connections(values: str) -> None:
    """Each address may have 128 otherwise, of which a proxy needs one for each call."""
    told = kinds(values, "ConfigMap")["footnote"]["data"]
    for kind in ("GRPC", "HTTP"):
        total = getattr(EdgeSettings(), f"{kind.lower()}_connections")
        assert total * 0.9 < int(told[f"FOOTNOTE_EDGE_{kind}_CONNECTIONS_PER_PEER"]) < total  # the rest for probes
    assert float(told["FOOTNOTE_EDGE_GRPC_CALLS_PER_SECOND"]) > EdgeSettings().grpc_calls_per_second
    assert "FOOTNOTE_EDGE_HTTP_CONNECTIONS_PER_PEER" not in config()


def test_behind_tls_links_of_answers_have_the_name_that_callers_use() -> None:
    origin = "FOOTNOTE_EDGE_PUBLIC_ORIGIN"
    assert kinds("operators", "ConfigMap")["footnote"]["data"][origin] == "https://footnote.example"
    assert kinds("postgresql", "ConfigMap")["footnote"]["data"][origin] == "https://footnote.example"
    gateway = ("--set", "gateway.enabled=true,gateway.name=g,gateway.http.hostnames={*.example,footnote.example}")
    assert config(*gateway)[origin] == "https://footnote.example"
    assert origin not in config(*gateway, "--set", "gateway.http.tls=false")
    assert config(*gateway, "--set", f"config.{origin}=https://other.example")[origin] == "https://other.example"
    assert origin not in config("--set", "gateway.enabled=true,gateway.name=g")


def test_an_ingress_with_mtls_needs_a_certificate_for_edge() -> None:
    """Without one every call ended with 502."""
    given = ("--set", "mtls.enabled=true,ingress.enabled=true,ingress.http.host=h,networkPolicy.enabled=false")
    ran = template(*given)
    assert ran.returncode != 0
    assert "ingress.http.annotations" in ran.stderr
    assert f"{NGINX}/proxy-ssl-secret" in ran.stderr
    key = "ingress.http.annotations." + NGINX.replace(".", "\\.")
    told = ("--set", f"{key}/backend-protocol=HTTPS,{key}/proxy-ssl-secret=footnote/edge")
    assert template(*given, *told).returncode == 0
    assert template(*given, "--set-string", f"{key}/ssl-passthrough=true").returncode == 0

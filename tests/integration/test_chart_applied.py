"""The manifests applied to a real API server: installed, upgraded, rolled back, moved to PostgreSQL."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from support import kubernetes
from support.chart import CHART, HELM, ROOT, VALUES
from support.kubernetes import Cluster, Refused

pytestmark = [
    pytest.mark.slow,
    pytest.mark.full,
    pytest.mark.skipif(HELM is None, reason="helm is not installed (.ci/run installs it where there is Go)"),
    pytest.mark.skipif(kubernetes.why_not() is not None, reason=kubernetes.why_not() or ""),
]
FOREIGN = {
    "gateway.networking.k8s.io": (
        "v1", {"GRPCRoute": "grpcroutes", "HTTPRoute": "httproutes", "BackendTLSPolicy": "backendtlspolicies"},
    ),
    "cert-manager.io": ("v1", {"Certificate": "certificates", "Issuer": "issuers"}),
    "external-secrets.io": ("v1", {"ExternalSecret": "externalsecrets"}),
    "monitoring.coreos.com": ("v1", {"ServiceMonitor": "servicemonitors"}),
    "postgresql.cnpg.io": ("v1", {"Cluster": "clusters"}),
    "milvus.io": ("v1beta1", {"Milvus": "milvuses"}),
}  # fmt: skip
"""Kinds of others. Their own definitions are not here: the server takes any content of them, and names them rightly."""


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A Kubernetes API server that knows the foreign kinds which the chart uses."""
    with kubernetes.cluster() as running:
        for group, (version, kinds) in FOREIGN.items():
            for kind, plural in kinds.items():
                running.call(
                    "POST",
                    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                    _definition(group, version, kind, plural),
                )
        running.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1})
        yield running


def _definition(group: str, version: str, kind: str, plural: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip


@pytest.fixture
def namespace(server: Cluster) -> str:
    """Make a namespace that enforces the restricted standard of pods."""
    name = f"test-{uuid4().hex}"
    labels = {
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/enforce-version": "latest",
    }
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    # Which a controller would make.
    server.call("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    return name


def helm(server: Cluster, namespace: str, *arguments: str) -> str:
    done = subprocess.run(
        ["helm", *arguments, "--namespace", namespace], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
    )  # fmt: skip
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def objects(server: Cluster, namespace: str, kind: str) -> dict[str, Any]:
    found = server.call("GET", f"/apis/apps/v1/namespaces/{namespace}/{kind}")
    return {one["metadata"]["name"]: one for one in found["items"]}


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.name.removesuffix("-values.yaml"))
def test_the_server_takes_what_each_set_of_values_makes_and_its_pods(
    server: Cluster, namespace: str, values: Path
) -> None:
    if values.name.startswith("operators"):
        server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "milvus"}})
    said = helm(server, namespace, "install", "footnote", str(CHART), "--values", str(values))
    assert "STATUS: deployed" in said
    made = {**objects(server, namespace, "deployments"), **objects(server, namespace, "statefulsets")}
    assert len(made) == 6 - values.name.startswith("foreign")
    for one in made.values():
        _pod(server, namespace, one["spec"]["template"]["spec"], one["spec"].get("volumeClaimTemplates", []))


def _pod(server: Cluster, namespace: str, spec: dict[str, Any], claims: list[dict[str, Any]]) -> None:
    """Have the server look at a pod as its controller would make it."""
    volumes = [{"name": one["metadata"]["name"], "persistentVolumeClaim": {"claimName": "any"}} for one in claims]
    pod = {"metadata": {"name": "looked-at"}, "spec": {**spec, "volumes": [*spec.get("volumes", []), *volumes]}}
    server.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All&fieldValidation=Strict", pod)


def test_a_pod_that_breaks_the_standard_would_be_refused(server: Cluster, namespace: str) -> None:
    pod = {"metadata": {"name": "root"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    with pytest.raises(Refused, match="restricted"):
        server.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)


def test_an_upgrade_keeps_the_secret_and_a_rollback_puts_back_what_was(server: Cluster, namespace: str) -> None:
    def token() -> str:
        return str(server.call("GET", f"/api/v1/namespaces/{namespace}/secrets/footnote-services")["data"]["token"])

    helm(server, namespace, "install", "footnote", str(CHART))
    first, before = token(), objects(server, namespace, "deployments")["footnote-retrieval"]["spec"]
    helm(server, namespace, "upgrade", "footnote", str(CHART), "--set", "retrieval.replicas=5,image.tag=0.2.0")
    after = objects(server, namespace, "deployments")["footnote-retrieval"]["spec"]
    assert (after["replicas"], after["template"]["spec"]["containers"][0]["image"]) == (5, "footnote:0.2.0")
    assert token() == first
    helm(server, namespace, "rollback", "footnote", "1")
    assert objects(server, namespace, "deployments")["footnote-retrieval"]["spec"] == before
    assert token() == first


def test_the_manifests_for_kubectl_are_taken(server: Cluster, namespace: str) -> None:
    paths = {
        "ConfigMap": "api/v1", "Secret": "api/v1", "Service": "api/v1", "ServiceAccount": "api/v1",
        "Deployment": "apis/apps/v1", "StatefulSet": "apis/apps/v1", "NetworkPolicy": "apis/networking.k8s.io/v1",
        "PodDisruptionBudget": "apis/policy/v1",
    }  # fmt: skip
    plural = {"NetworkPolicy": "networkpolicies"}
    for one in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "footnote.yaml").read_text()):
        if one:
            one["metadata"].pop("namespace", None)
            kind = plural.get(one["kind"], f"{one['kind'].lower()}s")
            where = f"/{paths[one['kind']]}/namespaces/{namespace}/{kind}?fieldValidation=Strict"
            server.call("POST", where, one)


def test_the_way_from_sqlite_to_postgresql_and_back(server: Cluster, namespace: str) -> None:
    """docs/postgresql.md, as the API server sees it."""
    chosen = ["--set", "postgresql.mode=external", "--set", "postgresql.existingSecret=footnote-postgresql"]
    helm(server, namespace, "install", "footnote", str(CHART))
    stateful = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
    for name in ("footnote-edge", "footnote-ingestion", "footnote-indexing"):
        server.call(
            "PATCH",
            f"{stateful}/{name}/scale",
            {"spec": {"replicas": 0}},
            **{"content-type": "application/merge-patch+json"},
        )
    job = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "jobs" / "to-postgresql.yaml").read_text())
    server.call("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs?fieldValidation=Strict", job)
    spec = job["spec"]["template"]["spec"]
    _pod(server, namespace, spec, [])
    claims = {one["persistentVolumeClaim"]["claimName"] for one in spec["volumes"] if "persistentVolumeClaim" in one}
    kept = {
        f"{one['spec']['volumeClaimTemplates'][0]['metadata']['name']}-{name}-0"
        for name, one in objects(server, namespace, "statefulsets").items()
    }
    assert claims == kept

    for name in ("footnote-edge", "footnote-indexing"):
        server.call("DELETE", f"{stateful}/{name}")
    helm(server, namespace, "upgrade", "footnote", str(CHART), "--reset-then-reuse-values", *chosen)
    assert set(objects(server, namespace, "statefulsets")) == {"footnote-edge", "footnote-ingestion"}
    assert "footnote-indexing" in objects(server, namespace, "deployments")
    assert objects(server, namespace, "statefulsets")["footnote-ingestion"]["spec"]["replicas"] == 1

    server.call("DELETE", f"{stateful}/footnote-edge")
    helm(server, namespace, "upgrade", "footnote", str(CHART), "--set", "postgresql.mode=none")
    assert {"footnote-edge", "footnote-indexing"} <= set(objects(server, namespace, "statefulsets"))


def test_without_the_page_the_server_refuses_and_nothing_is_changed(server: Cluster, namespace: str) -> None:
    helm(server, namespace, "install", "footnote", str(CHART))
    chosen = ["--set", "postgresql.mode=external", "--set", "postgresql.existingSecret=footnote-postgresql"]
    with pytest.raises(Refused, match="updates to statefulset spec"):
        helm(server, namespace, "upgrade", "footnote", str(CHART), *chosen)


def test_one_half_of_the_unit_of_indexing_and_retrieval_is_remarked(server: Cluster, namespace: str) -> None:
    def notes(*stages: str) -> bool:
        given = [word for stage in stages for word in ("--set", f"{stage}.image=other:1")]
        said = helm(server, namespace, "install", "footnote", str(CHART), "--dry-run=server", *given)
        return "one unit" in " ".join(said.split())

    assert notes("retrieval")
    assert notes("indexing")
    assert not notes("indexing", "retrieval")
    assert not notes("generation")

"""The Helm chart: lint, five sets of values against Kubernetes' own schemas, and what each of them promises."""

import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from footnote_kit.edge import SERVICES
from footnote_kit.settings import DEFAULT_PORTS
from footnote_store import tls
from support.certificates import Authority
from support.chart import (
    CHART,
    HELM,
    ROOT,
    VALUES,
    container,
    helm,
    kinds,
    rendered,
    stages,
    template,
    variables,
    workload,
)
from support.settings import known_variables

VERSIONS = ("1.34", "1.36", "1.37")
FOREIGN = {
    "gateway.networking.k8s.io/v1": {"GRPCRoute", "HTTPRoute", "BackendTLSPolicy"},
    "cert-manager.io/v1": {"Certificate", "Issuer"},
    "external-secrets.io/v1": {"ExternalSecret"},
    "monitoring.coreos.com/v1": {"ServiceMonitor"},
    "postgresql.cnpg.io/v1": {"Cluster"},
    "milvus.io/v1beta1": {"Milvus"},
}
"""Others' kinds, of which Kubernetes has no schemas: what is promised of them is asked below, by name."""
pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,  # helm is started for most of them
    pytest.mark.skipif(HELM is None, reason="helm is not installed (go install helm.sh/helm/v3/cmd/helm@v3.19.5)"),
]


def test_there_are_five_sets_of_values_and_helm_finds_nothing_to_say() -> None:
    assert len(VALUES) >= 5
    files = [argument for one in VALUES for argument in ("--values", str(one))]
    for given in ([], *([files[at], files[at + 1]] for at in range(0, len(files), 2))):
        said = helm("lint", "--strict", str(CHART), *given)
        assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [path.name.removesuffix("-values.yaml") for path in VALUES])
def test_kubernetes_takes_what_each_set_of_values_makes(values: str, version: str) -> None:
    for one in rendered(values, version):
        if one["kind"] in FOREIGN.get(one["apiVersion"], ()):
            continue
        kubernetes_validate.validate(one, version, strict=True)


def test_a_field_that_kubernetes_does_not_have_would_be_seen() -> None:
    broken = {**workload("default", "edge"), "spec": {**workload("default", "edge")["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.36", strict=True)


@pytest.mark.parametrize("values", [path.name.removesuffix("-values.yaml") for path in VALUES])
def test_every_name_is_there_once_and_every_variable_is_one_that_is_read(values: str) -> None:
    made = rendered(values)
    names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in made]
    assert len(set(names)) == len(names)
    told = {name for stage in stages(values) for name in variables(values, stage)}
    for config in kinds(values, "ConfigMap").values():
        told |= {name for name in config["data"] if name.startswith("FOOTNOTE_")}
    assert told - known_variables() == set()


REFUSED = {
    "generation.external.address=g.example:1,generation.image=o": "generation.external.address says that it runs",
    "generation.external.peers[0].ipBlock.cidr=10.0.0.0/8": "generation.external.peers has no effect without",
    "config.FOOTNOTE_METRICS_PORT=1": "config.FOOTNOTE_METRICS_PORT cannot be changed",
    "edge.replicas=2": "edge keeps its state on a volume that one pod can have: for more than one replica set",
    "ingestion.replicas=2": "postgresql.mode external or cloudnativepg, and objectStorage.url",
    "indexing.autoscaling.enabled=true": "indexing keeps its state on a volume",
    "retrieval.autoscaling.enabled=true,retrieval.autoscaling.minReplicas=20": "minReplicas is more than maxReplicas",
    "retrieval.autoscaling.enabled=true,retrieval.replicas=0": "retrieval.replicas=0 does not stop retrieval while",
    "milvus.uri=": "milvus.uri is empty: give the address of your Milvus",
    "milvus.mode=operator,milvus.operator.namespace=footnote": "restricted pod standard that Milvus does not keep",
    "postgresql.mode=external": "postgresql.existingSecret is empty: name the Secret whose key `uri`",
    "milvus.tlsSecret=certificates": "milvus.tlsSecret has no effect: name its files in milvus.uri",
    "milvus.mode=operator,milvus.tlsSecret=certificates": "milvus.tlsSecret has no effect",
    "postgresql.tlsSecret=certificates": "postgresql.tlsSecret has no effect with postgresql.mode=none",
    "redis.tlsSecret=certificates": "redis.tlsSecret has no effect without redis.existingSecret",
    "serviceToken.create=false": "serviceToken.existingSecret is empty",
    "models.embedding.provider=openai": "models.embedding.existingSecret is empty: openai wants a key",
    "models.generation.provider=anthropic": "models.generation.existingSecret is empty: anthropic wants a key",
    "edge.auth=jwt": "set FOOTNOTE_EDGE_JWT_JWKS_URL in edge.env",
    f"image.perService=true,image.digest=sha256:{'0' * 64}": "set image.tag",
    "gateway.enabled=true": "gateway.name is empty: name the Gateway",
    "gateway.enabled=true,gateway.name=g,mtls.enabled=true": "name it in mtls.gatewayCaConfigMap",
    "ingress.enabled=true": "name at least one",
    "ingress.enabled=true,ingress.http.host=h": "networkPolicy.clients is empty, so what comes through the ingress",
    "externalSecrets.enabled=true": "name the SecretStore",
}
"""Values that do not fit one another, and the sentence that says so."""
BY_SCHEMA = {
    "edge.replica=2": "'replica' not allowed",
    "milvus.mode=lite": "value must be one of 'external', 'operator'",
    "edge.replicas=none": "got string, want integer",
    "edge.auth=none": "value must be one of",
    "config.OPENAI_API_KEY=sk-1": "OPENAI_API_KEY",
    "config.FOOTNOTE_EDGE_DATABASE_URL=postgresql://u:p@h/d": "FOOTNOTE_EDGE_DATABASE_URL",
    "edge.env.FOOTNOTE_SERVICE_TOKEN=abc": "FOOTNOTE_SERVICE_TOKEN",
    "extraVolumes[0].name=data": "'not' failed",
    "edge.podLabels.app\\.kubernetes\\.io/name=other": "'not' failed",
    "edge.extraVolumeMounts[0].name=policy,edge.extraVolumeMounts[0].mountPath=/tls": "'not' failed",
    "image.digest=latest": "does not match pattern",
    "objectStorage.url=/data": "does not match pattern",
    "indexing.autoscaling.cpu=0": "minimum: got 0",
}


@pytest.mark.parametrize(("given", "said"), [*REFUSED.items(), *BY_SCHEMA.items()])
def test_a_value_that_cannot_work_is_refused_in_words(given: str, said: str) -> None:
    result = template("--set", given)
    assert result.returncode != 0
    assert said in result.stderr


def test_every_value_is_described_by_the_schema_and_none_is_described_that_is_not_there() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    optional = {"podAnnotations", "nodeSelector", "tolerations", "affinity", "priorityClassName", "claims", "global"}
    optional |= {"podLabels", "extraVolumes", "extraVolumeMounts"}  # of a service

    def compare(given: Any, described: dict[str, Any], path: str) -> None:
        if not isinstance(given, dict) or "properties" not in described:
            return
        assert described.get("additionalProperties") is False, path
        missing = set(described["properties"]) - set(given) - optional
        assert not missing, f"{path}: {missing} stand in the schema alone"
        assert set(given) <= set(described["properties"]), path
        for key, value in given.items():
            compare(value, described["properties"][key], f"{path}.{key}")

    compare(values, schema, "")


def test_kubectls_manifests_are_those_of_the_chart() -> None:
    made = subprocess.run([sys.executable, str(ROOT / "deploy" / "manifests.py"), "--check"], check=False)
    assert made.returncode == 0, "run `python deploy/manifests.py`"


def test_more_than_one_replica_shares_its_state() -> None:
    for stage in ("edge", "ingestion", "indexing"):
        told = variables("postgresql", stage)
        secret = told[f"FOOTNOTE_{stage.upper()}_DATABASE_URL"]["valueFrom"]["secretKeyRef"]
        assert secret == {"name": "footnote-postgresql", "key": "uri"}
        made = variables("operators", stage)[f"FOOTNOTE_{stage.upper()}_DATABASE_URL"]["valueFrom"]["secretKeyRef"]
        assert made == {"name": "footnote-postgresql-app", "key": "uri"}  # where CloudNativePG puts it
        assert "volumeClaimTemplates" not in workload("postgresql", stage)["spec"]
        # Jobs are taken up by the pod of the same name, so that edge's pods keep their names; the others need none.
        assert workload("postgresql", stage)["kind"] == ("StatefulSet" if stage == "edge" else "Deployment")
    assert "FOOTNOTE_INDEXING_CACHE_URL" in variables("postgresql", "indexing")
    assert variables("postgresql", "ingestion")["FOOTNOTE_INGESTION_BLOB_URL"]["value"] == "s3://footnote/files"
    assert set(kinds("operators", "Cluster")) == {"footnote-postgresql"}


def test_keys_go_to_the_services_that_call_their_provider_and_to_no_others() -> None:
    holders: dict[str, set[str]] = {}
    for stage in DEFAULT_PORTS:
        for one in container("postgresql", stage)["envFrom"]:
            if "secretRef" in one:
                holders.setdefault(one["secretRef"]["name"], set()).add(stage)
        for name, one in variables("postgresql", stage).items():
            if name == "FOOTNOTE_VECTOR_STORE_TOKEN":
                holders.setdefault(one["valueFrom"]["secretKeyRef"]["name"], set()).add(stage)
    assert holders == {
        # remote embeddings: documents in indexing, questions in retrieval, the `cosine` reranker in augmentation
        "footnote-openai": {"indexing", "retrieval", "augmentation", "generation"},
        "footnote-s3": {"ingestion"},
        "footnote-milvus": {"indexing", "retrieval"},
    }


def test_fewer_replicas_of_edge_are_a_persons_decision() -> None:
    scalers = kinds("postgresql", "HorizontalPodAutoscaler")
    assert set(scalers) == {f"footnote-{stage}" for stage in DEFAULT_PORTS}
    for name, one in scalers.items():
        down = one["spec"]["behavior"]["scaleDown"]
        assert (down.get("selectPolicy") == "Disabled") == (name == "footnote-edge")
        assert "replicas" not in workload("postgresql", name.removeprefix("footnote-"))["spec"]
        target = one["spec"]["scaleTargetRef"]
        assert target["kind"] == workload("postgresql", name.removeprefix("footnote-"))["kind"]
    for stage, waiting in (("ingestion", "20"), ("indexing", "40")):
        (queue,) = [one for one in scalers[f"footnote-{stage}"]["spec"]["metrics"] if one["type"] == "External"]
        assert queue["external"]["target"] == {"type": "AverageValue", "averageValue": waiting}


def test_the_gateway_routes_the_public_services_by_name_and_nothing_else() -> None:
    def routed(values: str) -> set[str]:
        (route,) = kinds(values, "GRPCRoute").values()
        rules = route["spec"]["rules"]
        assert all(len(rule["matches"]) <= 8 for rule in rules)  # no more are allowed
        assert all(ref["name"] == "footnote-edge" for rule in rules for ref in rule["backendRefs"])
        return {match["method"]["service"] for rule in rules for match in rule["matches"]}

    public = {service.full_name for service in SERVICES}
    assert routed("postgresql") == public
    assert {name for name in routed("mtls") - public if not name.startswith("grpc.")} == set()
    (http,) = kinds("postgresql", "HTTPRoute").values()
    assert http["spec"]["rules"][0]["backendRefs"] == [{"name": "footnote-edge", "port": 7180}]
    for name, port in (("footnote-grpc", 7100), ("footnote-http", 7180)):
        rule = kinds("operators", "Ingress")[name]["spec"]["rules"][0]
        assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "footnote-edge", "port": {"number": port}}


def test_the_network_lets_the_gateway_in_and_providers_keys_holders_out() -> None:
    edge = kinds("postgresql", "NetworkPolicy")["footnote-edge"]["spec"]
    assert edge["ingress"][0]["from"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateways"}}}
    ]
    out = {
        name.removeprefix("footnote-"): [one for one in policy["spec"]["egress"] if _beyond(one)]
        for name, policy in kinds("postgresql", "NetworkPolicy").items()
    }
    ports = {stage: sorted(port["port"] for one in rules for port in one["ports"]) for stage, rules in out.items()}
    assert ports == {
        "edge": [4317, 5432],
        "ingestion": [443, 4317, 5432],  # S3
        "indexing": [443, 443, 4317, 5432, 6379],  # Zilliz, the provider of embeddings
        "retrieval": [443, 443, 4317],
        "augmentation": [443, 4317],
        "generation": [443, 4317],
    }
    assert not kinds("small", "NetworkPolicy")


def _beyond(rule: dict[str, Any]) -> bool:
    return not any(
        "podSelector" in peer or port["port"] == 53 for peer in rule.get("to", [{}]) for port in rule["ports"]
    )


def test_images_are_one_for_all_or_one_for_each() -> None:
    for stage in DEFAULT_PORTS:
        assert container("small", stage)["image"] == f"registry.example/footnote-{stage}:0.1.0"
        assert container("default", stage)["image"] == "footnote:0.1.0"
        assert container("postgresql", stage)["image"].startswith("registry.example/footnote@sha256:")


def test_milvus_lives_outside_of_the_restricted_namespace() -> None:
    (milvus,) = kinds("operators", "Milvus").values()
    assert milvus["metadata"]["namespace"] == "milvus"
    assert milvus["spec"]["mode"] == "cluster"
    assert milvus["spec"]["components"]["queryNode"]["replicas"] == 2
    told = kinds("operators", "ConfigMap")["footnote"]["data"]["FOOTNOTE_VECTOR_STORE_URI"]
    assert told == "http://footnote-milvus.milvus.svc:19530"


@pytest.mark.parametrize("values", [path.name.removesuffix("-values.yaml") for path in VALUES])
def test_pods_keep_to_the_restricted_standard(values: str) -> None:
    for stage in stages(values):
        pod, only = workload(values, stage)["spec"]["template"]["spec"], container(values, stage)
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert only["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert only["securityContext"]["allowPrivilegeEscalation"] is False
        allowed = {"emptyDir", "secret", "persistentVolumeClaim"}
        assert all(set(one) - {"name"} <= allowed for one in pod["volumes"])


def test_with_mtls_every_service_has_a_certificate_of_its_names_and_probes_show_one() -> None:
    told = kinds("mtls", "ConfigMap")["footnote"]["data"]
    certificates = kinds("mtls", "Certificate")
    peers = told["FOOTNOTE_TLS_PEERS"].split(",")
    assert sorted(peers) == sorted(f"footnote-{stage}" for stage in DEFAULT_PORTS)
    for name in peers:
        stage = name.removeprefix("footnote-")
        spec = certificates[name]["spec"]
        assert spec["commonName"] == name
        assert {name, "localhost"} <= set(spec["dnsNames"])
        assert {"server auth", "client auth"} <= set(spec["usages"])
        assert spec["issuerRef"]["name"] in kinds("mtls", "Issuer")
        (volume,) = [
            one for one in workload("mtls", stage)["spec"]["template"]["spec"]["volumes"] if one["name"] == "tls"
        ]
        assert volume["secret"]["secretName"] == spec["secretName"]
        for probe in ("startupProbe", "livenessProbe"):
            command = container("mtls", stage)[probe]["exec"]["command"][-1]
            shown = [told[f"FOOTNOTE_TLS_{which}_FILE"] for which in ("CA", "CERT", "KEY")]
            assert re.findall(r"=(/tls/\S+)", command) == shown
    (policy,) = kinds("mtls", "BackendTLSPolicy").values()
    assert policy["spec"]["validation"]["hostname"] in certificates["footnote-edge"]["spec"]["dnsNames"]


@pytest.mark.parametrize(
    ("values", "secret", "folder", "users"),
    [
        ("mtls", "footnote-milvus-tls", "/milvus", {"indexing", "retrieval"}),
        ("postgresql", "footnote-postgresql-tls", "/pg", {"edge", "ingestion", "indexing"}),
        ("postgresql", "footnote-redis-tls", "/redis", {"indexing"}),
    ],
)
def test_certificates_for_a_store_go_to_the_services_that_use_it_and_to_no_others(
    values: str, secret: str, folder: str, users: set[str]
) -> None:
    found = set()
    for stage in DEFAULT_PORTS:
        volumes = workload(values, stage)["spec"]["template"]["spec"]["volumes"]
        names = [one["name"] for one in volumes if one.get("secret", {}).get("secretName") == secret]
        for name in names:
            (mounted,) = [one for one in container(values, stage)["volumeMounts"] if one["name"] == name]
            assert mounted == {"name": name, "mountPath": folder, "readOnly": True}
            found.add(stage)
    assert found == users


def test_the_address_of_a_milvus_with_certificates_is_one_that_the_services_read(tmp_path: Path) -> None:
    uri = kinds("mtls", "ConfigMap")["footnote"]["data"]["FOOTNOTE_VECTOR_STORE_URI"]
    made = Authority(tmp_path, "ca")
    own = made.issue("tls")
    there = {
        "/milvus/ca.crt": made.file,
        "/milvus/tls.crt": own["tls_cert_file"],
        "/milvus/tls.key": own["tls_key_file"],
    }
    for name, file in there.items():
        uri = uri.replace(name, str(file))
    assert str(tmp_path) in uri
    assert tls.address(uri).uri == "https://milvus.milvus.svc:19530"


def test_the_secret_of_the_services_is_made_long_and_only_where_none_is_named() -> None:
    first, second = (
        {
            one["metadata"]["name"]: one
            for one in yaml.safe_load_all(template().stdout)
            if one and one["kind"] == "Secret"
        }
        for _ in range(2)
    )
    assert set(first) == {"footnote-services"}
    assert first["footnote-services"]["data"] != second["footnote-services"]["data"]
    assert len(first["footnote-services"]["data"]["token"]) >= 64
    assert not kinds("postgresql", "Secret")


def test_a_change_of_the_configuration_starts_the_pods_anew_and_nothing_else_does() -> None:
    def sum_of(*arguments: str) -> str:
        made = [one for one in yaml.safe_load_all(template(*arguments).stdout) if one and one["kind"] == "Deployment"]
        return str(made[0]["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    assert sum_of() == sum_of("--set", "retrieval.replicas=3")
    assert sum_of() != sha256(b"").hexdigest()
    assert sum_of() != sum_of("--set", "config.FOOTNOTE_LOCAL_ONLY=true")


def test_metrics_are_read_from_every_service() -> None:
    (monitor,) = kinds("postgresql", "ServiceMonitor").values()
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [one for one in kinds("postgresql", "Service").values() if wanted <= one["metadata"]["labels"].items()]
    label = monitor["spec"]["jobLabel"]
    assert sorted(one["metadata"]["labels"][label] for one in found) == sorted(DEFAULT_PORTS)
    for one in found:
        assert one["spec"]["ports"][0]["name"] == monitor["spec"]["endpoints"][0]["port"]
    dashboards = kinds("postgresql", "ConfigMap")["footnote-dashboards"]
    assert len(dashboards["data"]) == 2
    assert dashboards["metadata"]["labels"]["grafana_dashboard"] == "1"

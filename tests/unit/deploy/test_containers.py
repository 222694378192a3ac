"""What the containers are told is what the services read: variables, ports, targets, health."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from footnote_cli.targets import STATEFUL, TARGETS
from footnote_kit.settings import DEFAULT_PORTS
from support.settings import known_variables

ROOT = Path(__file__).resolve().parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
FILES = [
    ROOT / "docker-compose.yml",
    ROOT / "deploy" / "docker" / "Dockerfile",
    *sorted(path for path in (ROOT / "deploy").rglob("*") if path.suffix in (".yaml", ".md")),
]
NOT_SETTINGS = {"FOOTNOTE_PROBE_ADDRESS", "FOOTNOTE_API_KEY", "FOOTNOTE_API_KEY_FILE", "FOOTNOTE", "FOOTNOTE_TLS"}
"""Read by the command line; and what is left of names that stand for several, as FOOTNOTE_TLS_…"""
HTTP_PORT = 7180
METRICS_PORT = 9464


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((KUBERNETES / name).read_text()))


def of_kind(stage: str, *kinds: str) -> dict[str, Any]:
    (found,) = [one for one in documents(f"{stage}.yaml") if one["kind"] in kinds]
    return found


def container(stage: str) -> dict[str, Any]:
    pod = of_kind(stage, "Deployment", "StatefulSet")["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    return only  # type: ignore[no-any-return]


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_variable_is_one_that_is_read(file: Path) -> None:
    used = set(re.findall(r"\bFOOTNOTE_[A-Z]+(?:_[A-Z0-9]+)*", file.read_text()))
    assert used - known_variables() - NOT_SETTINGS == set()


@pytest.mark.parametrize(("stage", "port"), DEFAULT_PORTS.items())
def test_compose_runs_every_service_on_its_own_port(stage: str, port: int) -> None:
    service = COMPOSE["services"][stage]
    assert service["command"] == ["serve", stage]
    assert service["environment"]["FOOTNOTE_PROBE_ADDRESS"] == f"127.0.0.1:{port}"
    for peer, peer_port in DEFAULT_PORTS.items():
        assert service["environment"][f"FOOTNOTE_{peer.upper()}_ADDRESS"] == f"{peer}:{peer_port}"
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["volumes"] == [f"{stage}-data:/data", "service-token:/run/footnote:ro"]
    # A stage believes nobody without the secret that is made before the first of them starts.
    assert service["environment"]["FOOTNOTE_SERVICE_TOKEN_FILE"] == COMPOSE["services"]["service-token"]["command"][1]
    assert service["depends_on"]["service-token"] == {"condition": "service_completed_successfully"}
    assert "FOOTNOTE_INSECURE_LISTEN" not in service["environment"]


def test_keys_of_providers_go_to_the_services_that_call_them_only() -> None:
    holders = {name for name, one in COMPOSE["services"].items() if "OPENAI_API_KEY" in (one.get("environment") or {})}
    assert holders == {"indexing", "retrieval", "generation"}
    for stage in DEFAULT_PORTS:
        given = container(stage)["envFrom"]
        assert [one["secretRef"]["name"] for one in given if "secretRef" in one] == [f"footnote-{stage}"]
    (shared,) = documents("config.yaml")
    assert not [name for name in shared["data"] if re.search("KEY|TOKEN|SECRET|PASSWORD", name)]
    told = {name for name in COMPOSE["x-environment"] if re.search("LOCAL_ONLY|ALLOWED", name)}
    assert len(told) == 5
    for stage in DEFAULT_PORTS:  # a policy that only some services know would have holes
        assert told <= set(COMPOSE["services"][stage]["environment"])


def test_compose_publishes_on_this_machine_only() -> None:
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert set(published) == {"edge", "jaeger"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert published["edge"] == [f"127.0.0.1:{port}:{port}" for port in (DEFAULT_PORTS["edge"], HTTP_PORT)]


def test_compose_asks_for_keys_and_says_where_the_first_one_is() -> None:
    told = COMPOSE["services"]["edge"]["environment"]
    assert told["FOOTNOTE_EDGE_AUTH"] == "keys"
    file = told["FOOTNOTE_EDGE_FIRST_KEY_FILE"]
    assert file.startswith("/data/")
    for text in ((ROOT / "docker-compose.yml").read_text(), (ROOT / "README.md").read_text()):
        assert f"docker compose exec edge cat {file}" in text
    assert "FOOTNOTE_EDGE_KEYLESS" not in told


def test_the_image_exposes_every_port_and_probes_the_edge() -> None:
    dockerfile = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    (exposed,) = re.findall(r"^EXPOSE (.+)$", dockerfile, flags=re.MULTILINE)
    assert set(map(int, exposed.split())) == {*DEFAULT_PORTS.values(), HTTP_PORT}
    assert f"FOOTNOTE_PROBE_ADDRESS=127.0.0.1:{DEFAULT_PORTS['edge']}" in dockerfile
    assert re.search(r"^USER (?!root)", dockerfile, flags=re.MULTILINE)


@pytest.mark.parametrize(("stage", "port"), DEFAULT_PORTS.items())
def test_kubernetes_runs_every_service_on_its_own_port(stage: str, port: int) -> None:
    assert stage in TARGETS
    workload, only = of_kind(stage, "Deployment", "StatefulSet"), container(stage)
    assert (workload["kind"] == "StatefulSet") == (stage in STATEFUL)
    assert workload["metadata"]["name"] == stage
    assert only["args"] == ["serve", stage]
    wanted = {"grpc": port, "metrics": METRICS_PORT} | ({"http": HTTP_PORT} if stage == "edge" else {})
    assert {one["name"]: one["containerPort"] for one in only["ports"]} == wanted
    assert only["readinessProbe"]["grpc"] == {"port": port}
    assert "grpc" not in only["livenessProbe"], "an outage of a dependency must not restart it"
    assert {"memory"} <= only["resources"]["limits"].keys() & only["resources"]["requests"].keys()


@pytest.mark.parametrize("stage", DEFAULT_PORTS)
def test_kubernetes_services_lead_to_their_pods(stage: str) -> None:
    service, workload = of_kind(stage, "Service"), of_kind(stage, "Deployment", "StatefulSet")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels == workload["spec"]["selector"]["matchLabels"]
    assert service["spec"]["ports"][0]["port"] == DEFAULT_PORTS[stage]
    # One connection to a virtual address would reach one replica only.
    assert (service["spec"].get("clusterIP") == "None") == (stage != "edge")
    if stage not in STATEFUL:
        assert of_kind(stage, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
        assert workload["spec"]["replicas"] > of_kind(stage, "PodDisruptionBudget")["spec"]["minAvailable"]


def test_kubernetes_pods_find_one_another() -> None:
    (config,) = documents("config.yaml")
    for stage, port in DEFAULT_PORTS.items():
        if stage != "edge":
            assert config["data"][f"FOOTNOTE_{stage.upper()}_ADDRESS"] == f"{stage}:{port}"
    assert config["data"]["FOOTNOTE_METRICS_PORT"] == str(METRICS_PORT)


def test_edge_asks_for_keys_and_the_stages_for_the_services_secret() -> None:
    for stage in DEFAULT_PORTS:
        env = {one["name"]: one.get("value") for one in container(stage).get("env", ())}
        assert (env.get("FOOTNOTE_EDGE_AUTH") == "keys") == (stage == "edge")
        assert "FOOTNOTE_INSECURE_LISTEN" not in env
    (pod,) = documents("pod.yaml")
    (only,) = pod["spec"]["template"]["spec"]["containers"]
    (secret,) = only["env"]
    assert secret["name"] == "FOOTNOTE_SERVICE_TOKEN"
    named = secret["valueFrom"]["secretKeyRef"]
    assert not named.get("optional")
    assert f"generic {named['name']} --from-literal={named['key']}=" in (KUBERNETES / "README.md").read_text()


def test_the_network_lets_nobody_else_to_the_stages() -> None:
    stages, edge, metrics = documents("network.yaml")
    assert stages["spec"]["podSelector"]["matchExpressions"][1] == {
        "key": "app.kubernetes.io/name", "operator": "NotIn", "values": ["edge"],
    }  # fmt: skip
    assert stages["spec"]["ingress"][0]["from"] == [
        {"podSelector": {"matchLabels": {"app.kubernetes.io/part-of": "footnote"}}}
    ]
    assert [one["port"] for one in edge["spec"]["ingress"][0]["ports"]] == ["grpc", "http"]
    assert [one["port"] for one in metrics["spec"]["ingress"][0]["ports"]] == ["metrics"]


def test_kustomize_puts_all_of_it_together() -> None:
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    others = {"kustomization.yaml", "pod.yaml"}
    assert set(listed) == {path.name for path in KUBERNETES.glob("*.yaml")} - others
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    built = subprocess.run(["kubectl", "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=True).stdout
    workloads = [one for one in yaml.safe_load_all(built) if one["kind"] in ("Deployment", "StatefulSet")]
    assert {one["metadata"]["name"] for one in workloads} == set(DEFAULT_PORTS)
    for workload in workloads:
        pod = workload["spec"]["template"]["spec"]
        (only,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["enableServiceLinks"]
        assert only["securityContext"]["readOnlyRootFilesystem"]
        assert only["args"] == ["serve", workload["metadata"]["name"]]
        claims = [one["metadata"]["name"] for one in workload["spec"].get("volumeClaimTemplates", ())]
        volumes = [*claims, *(volume["name"] for volume in pod["volumes"])]
        assert sorted(volumes) == sorted(mount["name"] for mount in only["volumeMounts"]) == ["data", "tmp"]


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_docker_compose_takes_the_file() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this docker has no compose plugin")
    command = ["docker", "compose", "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

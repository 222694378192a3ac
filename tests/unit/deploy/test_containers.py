"""The containers' configuration matches what the services read: variables, ports, targets, health."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from footnote_cli.targets import STATEFUL, TARGETS
from footnote_ingestion.app import _INSPECTORS
from footnote_ingestion.settings import Settings as IngestionSettings
from footnote_kit.admission.fair_slots import SPARE
from footnote_kit.settings import DEFAULT_PORTS
from footnote_providers.endpoints import SERVICES, Service
from support.settings import known_variables

ROOT = Path(__file__).resolve().parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
FILES = [
    ROOT / "docker-compose.yml",
    ROOT / "deploy" / "docker" / "Dockerfile",
    *sorted(path for path in (ROOT / "deploy").rglob("*") if path.suffix in (".yaml", ".md", ".tpl", ".txt")),
]
NOT_SETTINGS = {
    "FOOTNOTE_MIGRATE_TO",
    "FOOTNOTE_PROBE_ADDRESS",
    "FOOTNOTE_API_KEY",
    "FOOTNOTE_API_KEY_FILE",
    "FOOTNOTE",
    "FOOTNOTE_TLS",
}
"""Read by the command line; and what is left of names that stand for several, as FOOTNOTE_TLS_…"""
HTTP_PORT = 7180
METRICS_PORT = 9464


MANIFESTS = [one for one in yaml.safe_load_all((KUBERNETES / "footnote.yaml").read_text()) if one]
"""The chart's, as it stands without values; other values are in test_chart.py."""


def named(kind: str, name: str) -> dict[str, Any]:
    (found,) = [one for one in MANIFESTS if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def of_kind(stage: str, *kinds: str) -> dict[str, Any]:
    name = f"footnote-{stage}"
    (found,) = [one for one in MANIFESTS if one["kind"] in kinds and one["metadata"]["name"] == name]
    return found


def container(stage: str) -> dict[str, Any]:
    pod = of_kind(stage, "Deployment", "StatefulSet")["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    return only  # type: ignore[no-any-return]


def pods_of(stage: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "footnote",
        "app.kubernetes.io/instance": "footnote",
        "app.kubernetes.io/component": stage,
    }


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_variable_is_one_that_is_read(file: Path) -> None:
    used = set(re.findall(r"\bFOOTNOTE(?:_[A-Z0-9]+)+", file.read_text()))
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
    # A stage trusts no caller without the secret, which is created before the first stage starts.
    assert service["environment"]["FOOTNOTE_SERVICE_TOKEN_FILE"] == COMPOSE["services"]["service-token"]["command"][1]
    assert service["depends_on"]["service-token"] == {"condition": "service_completed_successfully"}
    assert "FOOTNOTE_INSECURE_LISTEN" not in service["environment"]


@pytest.mark.parametrize("where", ["compose", "chart"])
def test_ingestion_has_the_memory_that_its_processes_may_take(where: str) -> None:
    """A pod that is over its limit is killed with the files of all tenants."""
    if where == "compose":
        service = COMPOSE["services"]["ingestion"]
        env, limit = service["environment"], int(service["mem_limit"].removesuffix("g"))
    else:
        env = named("ConfigMap", "footnote")["data"] | {
            one["name"]: one.get("value") for one in container("ingestion")["env"]
        }
        limit = int(container("ingestion")["resources"]["limits"]["memory"].removesuffix("Gi"))
    wanted = {name.removeprefix("FOOTNOTE_INGESTION_").lower(): value for name, value in env.items()}
    settings = IngestionSettings(**{name: wanted[name] for name in ("workers", "table_queries")})
    files = (settings.workers + SPARE + _INSPECTORS + SPARE) * settings.parse_memory_bytes
    assert files + (settings.table_queries + SPARE) * settings.query_memory_bytes + 1024**3 <= limit * 1024**3


def test_keys_of_providers_go_to_the_services_that_call_them_only() -> None:
    holders = {name for name, one in COMPOSE["services"].items() if "OPENAI_API_KEY" in (one.get("environment") or {})}
    assert holders == {"indexing", "retrieval", "augmentation", "generation"}  # `cosine` embeds in augmentation
    reranker = {"FOOTNOTE_AUGMENTATION_RERANK_URL", "FOOTNOTE_AUGMENTATION_RERANK_API_KEY"}
    assert reranker <= set(COMPOSE["services"]["augmentation"]["environment"])
    for stage in DEFAULT_PORTS:  # who gets which Secret, where there are some: test_chart.py
        assert container(stage)["envFrom"] == [{"configMapRef": {"name": "footnote"}}]
    shared = named("ConfigMap", "footnote")
    assert not [name for name in shared["data"] if re.search("KEY|TOKEN|SECRET|PASSWORD", name)]
    told = {name for name in COMPOSE["x-environment"] if re.search("LOCAL_ONLY|ALLOWED", name)}
    assert len(told) == 5
    for stage in DEFAULT_PORTS:  # a policy that only some services know would have holes
        assert told <= set(COMPOSE["services"][stage]["environment"])


def test_compose_passes_on_what_documents_tell_to_set() -> None:
    """Half of a pair would do harm: a provider without its model, whose default a collection keeps for good."""
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs" / "running.md").read_text(), flags=re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`((?:FOOTNOTE|OPENAI)(?:_[A-Z]+)+)`", row)}
    told |= {name.replace("_PROVIDER", "_MODEL") for name in told} | {"FOOTNOTE_EMBEDDING_DIMENSIONS"}
    # Fixed by the image or this file, for the engine that is not in it, or of no use without files or ports.
    own = "DATA_DIR|LISTEN_HOST|PROCESSES|SERVICE_TOKEN|EDGE_HTTP.*|METRICS_PORT|LOG_FORMAT|(VECTOR_)?STORE.*|TLS.*"
    told = {name for name in told if not re.fullmatch(f"FOOTNOTE_({own})", name)}
    assert len(told) > 10
    for name in told:
        owner = name.removeprefix("FOOTNOTE_").partition("_")[0].lower()
        callers = ("indexing", "retrieval", "augmentation", "generation")
        for stage in (owner,) if owner in DEFAULT_PORTS else callers:
            assert name in COMPOSE["services"][stage]["environment"], f"{stage} does not get {name}"


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda one: one.id)
def test_compose_passes_on_keys_and_addresses_of_every_provider(service: Service) -> None:
    names = {*service.own, *(f"FOOTNOTE_{service.id.upper()}_{name}" for name in ("API_KEY", "BASE_URL"))}
    for stage in ("indexing", "retrieval", "augmentation", "generation"):
        assert names <= COMPOSE["services"][stage]["environment"].keys()
    for stage in ("edge", "ingestion"):
        assert not names & COMPOSE["services"][stage]["environment"].keys()


def test_compose_publishes_on_this_machine_only() -> None:
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert set(published) == {"edge", "jaeger"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert published["edge"] == [f"127.0.0.1:{port}:{port}" for port in (DEFAULT_PORTS["edge"], HTTP_PORT)]


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_compose_bounds_every_log(name: str) -> None:
    assert COMPOSE["services"][name]["logging"]["options"].keys() == {"max-size", "max-file"}


def test_compose_asks_for_keys_and_says_where_the_first_one_is() -> None:
    told = COMPOSE["services"]["edge"]["environment"]
    assert told["FOOTNOTE_EDGE_AUTH"] == "keys"
    file = told["FOOTNOTE_EDGE_FIRST_KEY_FILE"]
    assert file.startswith("/data/")
    for text in ((ROOT / "docker-compose.yml").read_text(), (ROOT / "docs" / "running.md").read_text()):
        assert f"docker compose exec edge cat {file}" in text
    assert "FOOTNOTE_EDGE_KEYLESS" not in told


def test_compose_has_a_command_line_with_the_first_key_and_says_how() -> None:
    cli, edge = COMPOSE["services"]["cli"], COMPOSE["services"]["edge"]
    assert cli["profiles"] == ["cli"]  # it does not start with the others
    assert cli["environment"]["FOOTNOTE_API_KEY_FILE"] == edge["environment"]["FOOTNOTE_EDGE_FIRST_KEY_FILE"]
    assert cli["environment"]["FOOTNOTE_EDGE_ADDRESS"] == COMPOSE["x-environment"]["FOOTNOTE_EDGE_ADDRESS"]
    shown = {volume.partition(":")[0]: volume for volume in cli["volumes"]}
    assert shown["edge-data"].endswith(":/data:ro")
    text = (ROOT / "docker-compose.yml").read_text()
    commands = re.findall(r"^#   docker compose run --rm cli (\w+) ?(/\S+)?", text, flags=re.MULTILINE)
    assert [name for name, _ in commands] == ["ingest", "ask"]
    (folder,) = [path for _, path in commands if path]
    assert (ROOT / "deploy" / folder.lstrip("/")).is_dir()


def test_the_passwords_that_everybody_can_read_are_labelled_and_unpublished() -> None:
    lines = (ROOT / "docker-compose.yml").read_text().splitlines()
    defaults = [at for at, line in enumerate(lines) if ":-" in line]
    assert "Everybody can read this default" in lines[defaults[0] - 2]
    assert {re.sub(r".*(\$\{.*\})", r"\1", lines[at]) for at in defaults} == {"${MINIO_PASSWORD:-footnote-minio}"}
    assert not {"ports"} & (COMPOSE["services"]["minio"].keys() | COMPOSE["services"]["etcd"].keys())


def test_the_image_exposes_every_port_and_probes_the_edge() -> None:
    dockerfile = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    (exposed,) = re.findall(r"^EXPOSE (.+)$", dockerfile, flags=re.MULTILINE)
    assert set(map(int, exposed.split())) == {*DEFAULT_PORTS.values(), HTTP_PORT}
    assert f"FOOTNOTE_PROBE_ADDRESS=127.0.0.1:{DEFAULT_PORTS['edge']}" in dockerfile
    assert re.search(r"^USER (?!root)", dockerfile, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("target", "languages", "packages"),
    [
        ("all", "eng+chi_sim", "tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-sim"),
        ("ingestion", "fra", "tesseract-ocr tesseract-ocr-fra"),
        ("edge", "fra", ""),
        ("all", "", ""),
    ],
)
def test_an_image_is_built_with_ocr_where_it_is_asked_for(target: str, languages: str, packages: str) -> None:
    dockerfile = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    (case,) = re.findall(r'^    && (case "\$TARGET,\$OCR" in .* esac) \\$', dockerfile, flags=re.MULTILINE)
    told = {"TARGET": target, "OCR": languages, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", f"{case}; echo $ocr"], env=told, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == packages
    assert re.search(r"^    && apt-get install .* \$ocr \\$", dockerfile, flags=re.MULTILINE)
    assert COMPOSE["x-footnote"]["build"]["args"].keys() == {"OCR"}


@pytest.mark.parametrize(("stage", "port"), DEFAULT_PORTS.items())
def test_kubernetes_runs_every_service_on_its_own_port(stage: str, port: int) -> None:
    assert stage in TARGETS
    workload, only = of_kind(stage, "Deployment", "StatefulSet"), container(stage)
    assert (workload["kind"] == "StatefulSet") == (stage in STATEFUL)
    assert only["args"] == ["serve", stage]
    wanted = {"grpc": port, "metrics": METRICS_PORT} | ({"http": HTTP_PORT} if stage == "edge" else {})
    assert {one["name"]: one["containerPort"] for one in only["ports"]} == wanted
    assert {"memory"} <= only["resources"]["limits"].keys() & only["resources"]["requests"].keys()


@pytest.mark.parametrize(("stage", "port"), DEFAULT_PORTS.items())
def test_an_outage_of_a_dependency_neither_restarts_a_service_nor_hides_it(stage: str, port: int) -> None:
    """Started: it has been able to work once. Ready: it answers, if with less. Alive: its loop answers, whatever."""
    only = container(stage)
    started, alive = (only[name]["exec"]["command"][-1] for name in ("startupProbe", "livenessProbe"))
    assert started.startswith(f"grpc_health_probe -addr=127.0.0.1:{port} ")
    assert alive == f"{started}; code=$?; [ $code = 0 ] || [ $code = 4 ]"  # 4: it answers that it is not ready
    assert only["readinessProbe"]["exec"]["command"][-1] == alive
    assert (
        of_kind(stage, "Deployment", "StatefulSet")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 40
    )
    dockerfile = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    assert re.search(r"^COPY --from=probe \S+ /usr/local/bin/grpc_health_probe$", dockerfile, flags=re.MULTILINE)


@pytest.mark.parametrize("stage", DEFAULT_PORTS)
def test_kubernetes_services_lead_to_their_pods(stage: str) -> None:
    service, workload = of_kind(stage, "Service"), of_kind(stage, "Deployment", "StatefulSet")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == pods_of(stage) == workload["spec"]["selector"]["matchLabels"]
    assert pods_of(stage).items() <= labels.items()
    assert service["spec"]["ports"][0]["port"] == DEFAULT_PORTS[stage]
    # One connection to a virtual address would reach one replica only.
    assert (service["spec"].get("clusterIP") == "None") == (stage != "edge")
    budget = of_kind(stage, "PodDisruptionBudget")["spec"]
    assert budget["selector"]["matchLabels"] == pods_of(stage)
    assert (
        budget["maxUnavailable"] == 1
    )  # of several one at a time; and of one that keeps its state no drain is blocked
    assert workload["spec"]["replicas"] == (1 if stage in STATEFUL else 2)


def test_kubernetes_pods_find_one_another() -> None:
    config = named("ConfigMap", "footnote")
    for stage, port in DEFAULT_PORTS.items():
        if stage != "edge":
            assert config["data"][f"FOOTNOTE_{stage.upper()}_ADDRESS"] == f"footnote-{stage}:{port}"
    assert config["data"]["FOOTNOTE_METRICS_PORT"] == str(METRICS_PORT)


def test_edge_asks_for_keys_and_the_stages_for_the_services_secret() -> None:
    for stage in DEFAULT_PORTS:
        told = {one["name"]: one for one in container(stage)["env"]}
        assert (told.get("FOOTNOTE_EDGE_AUTH", {}).get("value") == "keys") == (stage == "edge")
        assert "FOOTNOTE_INSECURE_LISTEN" not in told
        secret = told["FOOTNOTE_SERVICE_TOKEN"]["valueFrom"]["secretKeyRef"]
        assert not secret.get("optional")
        assert f"generic {secret['name']} --from-literal={secret['key']}=" in (KUBERNETES / "README.md").read_text()


CALLERS = {
    "ingestion": {"edge"},
    "indexing": {"edge", "ingestion", "retrieval"},
    "retrieval": {"edge"},
    "augmentation": {"edge"},
    "generation": {"edge"},
}


@pytest.mark.parametrize("stage", DEFAULT_PORTS)
def test_the_network_lets_in_the_callers_of_a_service_and_nobody_else(stage: str) -> None:
    policy = named("NetworkPolicy", f"footnote-{stage}")["spec"]
    assert policy["podSelector"]["matchLabels"] == pods_of(stage)
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    *calls, metrics = policy["ingress"]
    assert metrics["ports"] == [{"port": METRICS_PORT}]
    assert all("podSelector" not in one for one in metrics["from"])
    # Edge accepts no caller until one is named in the policy.
    assert len(calls) == (stage != "edge")
    for one in calls:
        assert one["ports"] == [{"port": DEFAULT_PORTS[stage]}]
        assert [peer["podSelector"]["matchLabels"] for peer in one["from"]] == [
            pods_of(caller) for caller in sorted(CALLERS[stage])
        ]


@pytest.mark.parametrize("stage", DEFAULT_PORTS)
def test_the_network_lets_out_to_what_a_service_calls_and_nowhere_else(stage: str) -> None:
    dns, *others = named("NetworkPolicy", f"footnote-{stage}")["spec"]["egress"]
    assert {port["port"] for port in dns["ports"]} == {53}
    pods = {
        peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]: one["ports"]
        for one in others
        for peer in one.get("to", ())
    }
    called = {name for name, callers in CALLERS.items() if stage in callers}
    assert pods == {name: [{"port": DEFAULT_PORTS[name]}] for name in called}
    beyond = [one["ports"] for one in others if "to" not in one]
    assert beyond == ([[{"port": 19530}]] if stage in ("indexing", "retrieval") else [])


def test_who_calls_whom_is_what_the_services_open_channels_to() -> None:
    found: dict[str, set[str]] = {stage: set() for stage in CALLERS}
    for stage in DEFAULT_PORTS:
        for path in (ROOT / "services" / stage / "src").rglob("*.py"):
            for called in re.findall(r"runtime\.(?:channel|check)\(\"(\w+)\"", path.read_text()):
                if called != "edge":
                    found[called].add(stage)
    edge = (ROOT / "services/edge/src/footnote_edge/adapters/stages.py").read_text()
    for stage in CALLERS:
        if f"{stage}_service_pb2_grpc" in edge:
            found[stage].add("edge")
    assert found == CALLERS


@pytest.mark.slow
def test_kustomize_puts_all_of_it_together() -> None:
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    assert set(listed) == {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed (see kubernetes.io)")
    built = subprocess.run(["kubectl", "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=True).stdout
    workloads = [one for one in yaml.safe_load_all(built) if one["kind"] in ("Deployment", "StatefulSet")]
    assert {one["metadata"]["name"] for one in workloads} == {f"footnote-{stage}" for stage in DEFAULT_PORTS}
    for workload in workloads:
        pod = workload["spec"]["template"]["spec"]
        (only,) = pod["containers"]
        assert only["image"] == "footnote:local"
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] > 0
        assert not pod["automountServiceAccountToken"]
        assert not pod["enableServiceLinks"]
        assert only["securityContext"]["readOnlyRootFilesystem"]
        assert only["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert f"footnote-{only['args'][1]}" == workload["metadata"]["name"]
        claims = [one["metadata"]["name"] for one in workload["spec"].get("volumeClaimTemplates", ())]
        volumes = [*claims, *(volume["name"] for volume in pod["volumes"])]
        assert sorted(volumes) == sorted(mount["name"] for mount in only["volumeMounts"]) == ["data", "tmp"]


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed (see docs.docker.com)")
def test_docker_compose_takes_the_file() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this docker has no compose plugin (apt-get install docker-compose-v2)")
    command = ["docker", "compose", "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

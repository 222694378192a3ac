"""Foreign stages in the chart, unique keys, and documented values."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from footnote_edge.adapters import database as edge_database
from footnote_indexing.adapters import database as indexing_database
from footnote_ingestion.adapters import database as ingestion_database
from footnote_kit.settings import DEFAULT_PORTS
from support.chart import CHART, HELM, ROOT, VALUES, container, helm, kinds, once, rendered, template, workload

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(HELM is None, reason="helm is not installed (.ci/run installs it where there is Go)"),
]
STAGES = ("ingestion", "indexing", "retrieval", "augmentation", "generation")


def test_the_loader_of_this_test_sees_a_key_that_is_there_twice() -> None:
    with pytest.raises(AssertionError, match="twice"):
        once("{kind: ConfigMap, data: {a: 1, a: 2}}")


@pytest.mark.parametrize("values", [path.name.removesuffix("-values.yaml") for path in VALUES])
def test_no_key_is_there_twice(values: str) -> None:
    assert once(template("--values", str(CHART / "ci" / f"{values}-values.yaml")).stdout)


def test_what_is_set_by_hand_goes_before_what_the_chart_says_and_is_there_once() -> None:
    """Every variable that the chart sets itself, set by hand besides."""
    values = str(CHART / "ci" / "postgresql-values.yaml")
    plain = once(template("--values", values).stdout)
    (config,) = [one for one in plain if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "footnote"]
    shared = sorted(set(config["data"]) - {"FOOTNOTE_METRICS_PORT"})
    own = {
        stage: [one["name"] for one in container("postgresql", stage)["env"] if "value" in one]
        for stage in DEFAULT_PORTS
    }
    given = [f"config.{name}=mine" for name in shared]
    given += [f"{stage}.env.{name}=mine" for stage, names in own.items() for name in names]
    made = once(template("--values", values, *(word for one in given for word in ("--set", one))).stdout)
    (config,) = [one for one in made if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "footnote"]
    assert {config["data"][name] for name in shared} == {"mine"}
    found = 0
    for one in made:
        if one["kind"] in ("Deployment", "StatefulSet"):
            stage = one["metadata"]["labels"]["app.kubernetes.io/component"]
            env = {one["name"]: one for one in one["spec"]["template"]["spec"]["containers"][0]["env"]}
            assert all(env[name]["value"] == "mine" for name in own[stage])
            found += len(own[stage])
    assert found >= 3


def test_the_number_of_questions_over_tables_is_set_in_config() -> None:
    made = once(template("--set", "config.FOOTNOTE_INGESTION_TABLE_QUERIES=4").stdout)
    (config,) = [one for one in made if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "footnote"]
    assert config["data"]["FOOTNOTE_INGESTION_TABLE_QUERIES"] == "4"
    assert "FOOTNOTE_INGESTION_TABLE_QUERIES" not in [
        one["name"] for one in container("postgresql", "ingestion")["env"]
    ]


def test_a_stage_of_another_make_is_run_by_its_image_or_reached_at_its_address() -> None:
    only = container("foreign", "generation")
    assert (only["image"], only["args"]) == ("registry.example/other/generation:2.1", ["--port", "7105"])
    assert container("foreign", "retrieval")["image"] == "footnote:0.1.0"
    # The image of a foreign stage need not have our probe program.
    assert only["readinessProbe"]["grpc"] == only["startupProbe"]["grpc"] == {"port": 7105}
    assert "exec" not in only["livenessProbe"]
    egress = kinds("foreign", "NetworkPolicy")["footnote-generation"]["spec"]["egress"]
    assert {"to": [{"ipBlock": {"cidr": "203.0.113.7/32"}}], "ports": [{"port": 8443}]} in egress

    elsewhere = [one for one in rendered("foreign") if "augmentation" in one["metadata"]["name"]]
    assert elsewhere == [], "nothing of a stage that runs elsewhere is in this release"
    told = kinds("foreign", "ConfigMap")["footnote"]["data"]
    assert told["FOOTNOTE_AUGMENTATION_ADDRESS"] == "augmentation.partner.example:7443"
    edge = kinds("foreign", "NetworkPolicy")["footnote-edge"]["spec"]["egress"]
    assert {"to": [{"ipBlock": {"cidr": "198.51.100.0/24"}}], "ports": [{"port": 7443}]} in edge
    assert workload("foreign", "edge")["spec"]["replicas"] == 0


@pytest.mark.full
@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_can_run_elsewhere(stage: str) -> None:
    address = f"--set={stage}.external.address=there.example:9000"
    peers = f"--set={stage}.external.peers[0].ipBlock.cidr=192.0.2.0/24"
    made = once(
        template(address, peers, "--set", "mtls.enabled=true", "--set", "metrics.serviceMonitor.enabled=true").stdout
    )
    assert {one["kind"] for one in made} >= {"NetworkPolicy", "Certificate", "ServiceMonitor"}
    here = {one["metadata"].get("labels", {}).get("app.kubernetes.io/component") for one in made}
    assert here - {None} == set(DEFAULT_PORTS) - {stage}
    (config,) = [one for one in made if one["kind"] == "ConfigMap"]
    assert config["data"][f"FOOTNOTE_{stage.upper()}_ADDRESS"] == "there.example:9000"
    assert "there.example" in config["data"]["FOOTNOTE_TLS_PEERS"].split(",")
    assert len(config["data"]["FOOTNOTE_TLS_PEERS"].split(",")) == len(DEFAULT_PORTS)
    policies = {one["metadata"]["name"]: one["spec"] for one in made if one["kind"] == "NetworkPolicy"}
    peer = {"ipBlock": {"cidr": "192.0.2.0/24"}}
    asked_by = {name for name, one in policies.items() if any(peer in rule.get("to", []) for rule in one["egress"])}
    answers = {name for name, one in policies.items() if any(peer in rule.get("from", []) for rule in one["ingress"])}
    assert asked_by == {"indexing": {"footnote-edge", "footnote-ingestion", "footnote-retrieval"}}.get(
        stage, {"footnote-edge"}
    )
    assert answers == ({"footnote-indexing"} if stage in ("ingestion", "retrieval") else set())


def workloads(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The Deployments and StatefulSets that some values make, by stage."""
    ran = template(*(word for key, value in given.items() for word in ("--set-json", f"{key}={json.dumps(value)}")))
    assert ran.returncode == 0, ran.stderr
    made = [one for one in once(ran.stdout) if one["kind"] in ("Deployment", "StatefulSet")]
    return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one for one in made}


def test_files_are_given_to_all_services_or_to_one() -> None:
    """A provider policy is a file, and no variable says the same."""
    policy = {"name": "policy", "configMap": {"name": "footnote-policy"}}
    mount = {"name": "policy", "mountPath": "/policy", "readOnly": True}
    models = {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}}
    given = {
        "extraVolumes": [policy],
        "extraVolumeMounts": [mount],
        "retrieval.extraVolumes": [models],
        "retrieval.extraVolumeMounts": [{"name": "models", "mountPath": "/models"}],
        "config.FOOTNOTE_PROVIDER_POLICY_FILE": "/policy/policy.toml",
        "config.SSL_CERT_FILE": "/policy/ca.crt",
    }
    made = workloads(given)
    assert set(made) == set(DEFAULT_PORTS)
    for stage, one in made.items():
        kubernetes_validate.validate(one, "1.36", strict=True)
        pod = one["spec"]["template"]["spec"]
        assert policy in pod["volumes"]
        assert mount in pod["containers"][0]["volumeMounts"]
        assert (models in pod["volumes"]) == (stage == "retrieval")


def test_a_controller_restarts_pods_for_a_changed_secret_with_and_without_mtls() -> None:
    reloader = {"reloader.stakater.com/auto": "true"}
    for given in ({"restartAnnotations": reloader}, {"mtls.enabled": True, "mtls.restartAnnotations": reloader}):
        assert all(one["metadata"]["annotations"] == reloader for one in workloads(given).values())
    assert all(
        "annotations" not in one["metadata"] for one in workloads({"mtls.restartAnnotations": reloader}).values()
    )


@pytest.mark.parametrize(("url", "ports"), [("gs://files", {80, 988}), ("s3://files", {80}), ("az://files", set())])
def test_ingestion_asks_for_tokens_of_its_role_where_no_secret_has_keys(chart: Path, url: str, ports: set[int]) -> None:
    """On GKE, and with EKS Pod Identity, the pod never started."""

    def opened(stage: str, *given: str) -> set[int]:
        rules, _ = egress(chart, stage, "--set", f"objectStorage.url={url}", *given)
        near = [one for one in rules if "169.254." in str(one.get("to"))]
        return {port["port"] for one in near for port in one["ports"]}

    assert opened("ingestion") == ports
    assert opened("edge") == opened("ingestion", "--set", "objectStorage.existingSecret=keys") == set()
    other = opened("ingestion", "--set", "ingestion.secrets={embedding}")
    assert other == (ports if url.startswith("s3:") else set()), "on GKE these may be the node's own"


def test_pods_have_labels_of_yours() -> None:
    made = workloads({"ingestion.podLabels": {"azure.workload.identity/use": "true"}})
    for stage, one in made.items():
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert ("azure.workload.identity/use" in labels) == (stage == "ingestion")
        assert "azure.workload.identity/use" not in one["spec"]["selector"]["matchLabels"]


def test_postgresql_has_connections_for_all_replicas_and_the_docs_say_how_many() -> None:
    """Without, whichever replica came last had none: uploads and questions ended with 503."""
    pools = {"edge": edge_database.TRAITS, "ingestion": ingestion_database.TRAITS, "indexing": indexing_database.TRAITS}
    each = {stage: one.postgres_pool.size + one.postgres_pool.overflow for stage, one in pools.items()}
    each["edge"] += 20 + 2  # of its jobs: dbos' own pool, its listener and one at the start
    rollout = each["ingestion"] + each["indexing"]  # their Deployments start one more
    most = rollout + sum(number * PLAIN[stage]["autoscaling"]["maxReplicas"] for stage, number in each.items())
    (cluster,) = kinds("operators", "Cluster").values()
    assert int(cluster["spec"]["postgresql"]["parameters"]["max_connections"]) > most
    said = "edge takes up to {edge}, one of ingestion {ingestion} and one of indexing {indexing}".format(**each)
    assert said in (ROOT / "docs" / "postgresql.md").read_text()


def leaves(values: Any, path: str = "") -> list[str]:
    """Paths of all values that have nothing below them."""
    if isinstance(values, dict) and values:
        return [leaf for key, value in values.items() for leaf in leaves(value, f"{path}.{key}" if path else key)]
    return [path]


PLAIN: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


def test_every_value_has_words_for_it() -> None:
    """A comment on its line or right above it or its parents; the stages have one for all of them."""
    lines = (CHART / "values.yaml").read_text().splitlines()
    stages = " ".join(line.strip("# ") for line in lines if line.startswith("#"))
    described: set[str] = set()
    path: list[tuple[int, str, bool]] = []
    for number, line in enumerate(lines):
        found = re.match(r"( *)(\w+):", line)
        if not found:
            continue
        depth = len(found[1])
        path = [one for one in path if one[0] < depth]
        above = number and lines[number - 1].strip().startswith("#") and "----" not in lines[number - 1]
        path.append((depth, found[2], bool(above or "  # " in line)))
        if any(one[2] for one in path) or (path[0][1] in DEFAULT_PORTS and re.search(rf"\b{found[2]}\b", stages)):
            described.add(".".join(one[1] for one in path))
    bare = [leaf for leaf in leaves(PLAIN) if not any(leaf == one or leaf.startswith(f"{one}.") for one in described)]
    assert bare == []


def test_every_value_is_read_by_a_template() -> None:
    templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    unread = [leaf for leaf in leaves(PLAIN) if not re.search(rf"[.\"]{leaf.rpartition('.')[2]}\b", templates)]
    # Kubernetes' own structures are passed on whole.
    whole = re.compile(r"\.(resources|annotations|labels)\.")
    assert [leaf for leaf in unread if not whole.search(leaf)] == []


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """The chart with its notes as a manifest: only an install prints them, which wants a cluster."""
    chart = shutil.copytree(CHART, tmp_path / "footnote")
    notes = chart / "templates" / "NOTES.txt"
    (chart / "templates" / "_notes.tpl").write_text(f'{{{{ define "notes" }}}}{notes.read_text()}{{{{ end }}}}')
    (chart / "templates" / "notes.yaml").write_text('kind: Notes\ntext: {{ include "notes" . | quote }}\n')
    return chart


def egress(chart: Path, stage: str, *given: str) -> tuple[list[dict[str, Any]], str]:
    """Return where a service may call, and what an install says."""
    ran = helm("template", "footnote", str(chart), "--kube-version", "1.36.0", *given)
    assert ran.returncode == 0, ran.stderr
    made = once(ran.stdout)
    (said,) = [one["text"] for one in made if one["kind"] == "Notes"]
    policies = {one["metadata"]["name"]: one["spec"] for one in made if one["kind"] == "NetworkPolicy"}
    return policies.get(f"footnote-{stage}", {}).get("egress", []), said


def test_a_model_inside_the_cluster_needs_no_key_and_its_port_is_open(chart: Path) -> None:
    """Without, questions to it ended in a timeout, and neither the checks nor an install said why."""
    own = ("--set", "models.generation.provider=openai,config.OPENAI_BASE_URL=http://vllm.models.svc:8000/v1")
    providers = "networkPolicy.egress.providers"
    ports = [[one["port"] for one in rule["ports"]] for rule in egress(chart, "generation", *own)[0]]
    assert [443, 8000] in ports
    assert "generation does not reach http://vllm.models.svc:8000/v1" in egress(chart, "generation", *own)[1]
    inside = json.dumps([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "models"}}}])
    assert "does not reach" not in egress(chart, "generation", *own, "--set-json", f"{providers}.to={inside}")[1]
    assert {"port": 8000} not in [port for rule in egress(chart, "edge", *own)[0] for port in rule["ports"]]
    fixed, _ = egress(chart, "generation", *own, "--set", f"{providers}.port=8443")
    assert [443, 8000] not in [[one["port"] for one in rule["ports"]] for rule in fixed]
    public = (
        "--set",
        "models.generation.provider=openai,generation.env.OPENAI_BASE_URL=https://models.example:8443/v1",
    )
    rules, said = egress(chart, "generation", *public)
    assert [443, 8443] in [[one["port"] for one in rule["ports"]] for rule in rules]
    assert "does not reach" not in said


def test_addresses_in_config_open_their_ports_for_the_services_that_call_them(chart: Path) -> None:
    """A model or reranker that is chosen by question or collection alone was not reached."""
    config = "config.FOOTNOTE_VLLM_BASE_URL=http://vllm.models.svc:8000/v1,config.HTTPS_PROXY=10.0.0.9:3128"
    reranker = "config.FOOTNOTE_AUGMENTATION_RERANK_URL=http://tei.models.svc:8080/rerank"
    milvus = "milvus.uri=http://milvus.milvus.svc"

    def opened(stage: str) -> set[int]:
        rules, said = egress(chart, stage, "--set", f"{config},{reranker},{milvus}")
        assert (f"{stage} does not reach http://vllm.models.svc:8000/v1" in said) == (
            stage not in ("edge", "ingestion")
        )
        return {port["port"] for rule in rules for port in rule["ports"]} - {53, *DEFAULT_PORTS.values()}

    assert opened("generation") == {8000, 3128}
    assert opened("augmentation") == {8000, 8080, 3128}
    assert opened("indexing") == opened("retrieval") == {8000, 3128, 19530}
    assert opened("edge") == opened("ingestion") == set()


def test_ingestion_reaches_its_bucket_through_a_web_proxy(chart: Path) -> None:
    config = "config.HTTPS_PROXY=http://proxy.example:3128,objectStorage.url=s3://files"
    rules, _ = egress(chart, "ingestion", "--set", config)
    assert 3128 in {port["port"] for rule in rules for port in rule["ports"]}


def test_edges_copies_of_git_sources_have_the_room_that_is_given() -> None:
    given = "postgresql.mode=external,postgresql.existingSecret=s,objectStorage.url=s3://files,edge.storage.size=7Gi"
    ran = helm("template", "footnote", str(CHART), "--kube-version", "1.36.0", "--set", given)
    (edge,) = (
        one for one in once(ran.stdout) if (one["kind"], one["metadata"]["name"]) == ("StatefulSet", "footnote-edge")
    )
    volumes = {one["name"]: one for one in edge["spec"]["template"]["spec"]["volumes"]}
    assert volumes["data"]["emptyDir"]["sizeLimit"] == "7Gi"


def test_a_key_of_its_own_keeps_a_pod_from_its_nodes_metadata(chart: Path) -> None:
    bucket = "objectStorage.url=gs://files"
    key = "ingestion.env.GOOGLE_APPLICATION_CREDENTIALS=/keys/gcs.json"
    by_role, by_key = (str(egress(chart, "ingestion", "--set", given)[0]) for given in (bucket, f"{bucket},{key}"))
    assert ("169.254.169.254" in by_role, "169.254.169.254" in by_key) == (True, False)


def test_an_install_says_at_which_ports_stores_with_secret_addresses_are_reached(chart: Path) -> None:
    given = ("--values", str(CHART / "ci" / "postgresql-values.yaml"))
    said = egress(chart, "edge", *given)[1]
    assert "postgresql is reached at port 5432 alone" in said
    assert "redis is reached at port 6379 alone" in said
    named = ("--set", "networkPolicy.egress.postgresql.port=6432,networkPolicy.egress.redis.port=6380")
    assert "is reached at port" not in egress(chart, "edge", *given, *named)[1]
    assert "is reached at port" not in egress(chart, "edge")[1]


def test_edge_reaches_sources_only_where_it_is_let_and_an_install_says_which_it_is(chart: Path) -> None:
    def edge(*given: str) -> tuple[list[dict[str, Any]], str]:
        return egress(chart, "edge", *given)

    unreached = "Edge reaches no web site, repository, bucket, mailbox or feed"
    shut, said = edge()
    assert not [one for one in shut if "ipBlock" in str(one)]
    assert unreached in said
    sources = "networkPolicy.egress.sources"
    opened, said = edge("--set", f"{sources}.enabled=true")
    (rule,) = [one for one in opened if one not in shut]
    assert [one["port"] for one in rule["ports"]] == [22, 80, 443, 993]  # SSH, HTTP, HTTPS, IMAP over TLS
    assert "10.0.0.0/8" in rule["to"][0]["ipBlock"]["except"]
    assert unreached not in said
    narrowed, _ = edge("--set", f"{sources}.enabled=true,{sources}.ports={{443}}", "--set-json", f"{sources}.to=[]")
    assert {"ports": [{"port": 443}]} in narrowed
    assert unreached not in edge("--set", "networkPolicy.egress.enabled=false")[1]
    assert unreached not in edge("--set", "networkPolicy.enabled=false")[1]

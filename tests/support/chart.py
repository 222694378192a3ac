"""The Helm chart as helm renders it, for tests: by its sets of values, by kind, by stage."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "footnote"
VALUES = sorted(CHART.glob("ci/*-values.yaml"))
HELM = shutil.which("helm")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm."""
    return subprocess.run(["helm", *arguments], capture_output=True, text=True, check=False, timeout=120)


def template(*arguments: str, version: str = "1.36") -> subprocess.CompletedProcess[str]:
    return helm(
        "template", "footnote", str(CHART), "--namespace", "footnote", "--kube-version", f"{version}.0", *arguments
    )


@cache
def rendered(values: str, version: str = "1.36") -> tuple[dict[str, Any], ...]:
    """What the chart makes of `ci/<values>-values.yaml`."""
    made = template("--values", str(CHART / "ci" / f"{values}-values.yaml"), version=version)
    assert made.returncode == 0, made.stderr
    return tuple(one for one in yaml.safe_load_all(made.stdout) if one)


def kinds(values: str, kind: str) -> dict[str, dict[str, Any]]:
    """The objects of a kind, by name."""
    return {one["metadata"]["name"]: one for one in rendered(values) if one["kind"] == kind}


def workload(values: str, stage: str) -> dict[str, Any]:
    """The Deployment or StatefulSet of a stage."""
    (found,) = [
        one
        for one in rendered(values)
        if one["kind"] in ("Deployment", "StatefulSet")
        and one["metadata"]["labels"]["app.kubernetes.io/component"] == stage
    ]
    return found


def stages(values: str) -> list[str]:
    """The stages that a set of values runs, rather than reaches elsewhere."""
    made = [one for one in rendered(values) if one["kind"] in ("Deployment", "StatefulSet")]
    return [one["metadata"]["labels"]["app.kubernetes.io/component"] for one in made]


def container(values: str, stage: str) -> dict[str, Any]:
    """The only container of a stage."""
    (only,) = workload(values, stage)["spec"]["template"]["spec"]["containers"]
    return only  # type: ignore[no-any-return]


def variables(values: str, stage: str) -> dict[str, dict[str, Any]]:
    """The variables of a stage, by name."""
    return {one["name"]: one for one in container(values, stage)["env"]}


class OnceLoader(yaml.SafeLoader):
    """Refuses a mapping that has a key twice, of which other loaders take the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(set(keys)) == len(keys), f"a key is there twice{node.start_mark}"
        return super().construct_mapping(node, deep)


def once(text: str) -> list[dict[str, Any]]:
    """A rendered chart, in which every key, and every variable of a container, occurs once."""
    made = [one for one in yaml.load_all(text, Loader=OnceLoader) if one]
    for one in made:
        if one["kind"] in ("Deployment", "StatefulSet"):
            (only,) = one["spec"]["template"]["spec"]["containers"]
            names = [variable["name"] for variable in only["env"]]
            assert len(set(names)) == len(names), names
    return made

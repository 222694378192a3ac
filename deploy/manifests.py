"""Writes deploy/kubernetes/footnote.yaml from the chart, as it stands without values, for those who have no helm.

python deploy/manifests.py           # rewrites it; needs helm
python deploy/manifests.py --check   # exits 1 when it is not current
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "helm" / "footnote"
TARGET = ROOT / "deploy" / "kubernetes" / "footnote.yaml"
KUBERNETES = "1.36.0"
_HEAD = "# Made from deploy/helm/footnote by `python deploy/manifests.py`; a test keeps it current. Change the chart.\n"
_HELMS = ("app.kubernetes.io/managed-by:", "helm.sh/chart:", "# Source:")


def manifests() -> str:
    """Return the manifests; CalledProcessError where the chart does not render, which helm explains."""
    # The secret of the services is made by hand: one rendered into a file would be everybody's.
    values = ["--set", "serviceToken.create=false", "--set", "serviceToken.existingSecret=footnote-services"]
    command = ["helm", "template", "footnote", str(CHART), "--namespace", "footnote", "--kube-version", KUBERNETES]
    made = subprocess.run([*command, *values], stdout=subprocess.PIPE, text=True, check=True).stdout
    ours = [line for line in made.splitlines() if not line.strip().startswith(_HELMS)]
    return _HEAD + "\n".join(ours) + "\n"


def main() -> int:
    """Write the file, or with --check compare it; return the exit code."""
    if shutil.which("helm") is None:
        sys.stderr.write("helm is not installed\n")
        return 2
    made = manifests()
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text() != made)
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())

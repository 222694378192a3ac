"""Writes deploy/dependencies.md: every package and image that a deployment is made of, its version, and since when.

    python deploy/dependencies.py           # rewrites the table
    python deploy/dependencies.py --check   # exits 1 when it is not current

The date is the one on which this repository took the version. Without a network it is unknown which versions have
known faults; with one, `pip-audit --requirement constraints.txt` can, and a table shows what has not moved for long.
"""

import re
import runpy
import subprocess
import sys
from datetime import date
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "deploy" / "dependencies.md"
CONSTRAINTS = "constraints.txt"
IMAGES = ("docker-compose.yml", "deploy/docker/Dockerfile")
_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)")
_IMAGE = re.compile(r"(?:image:|FROM) +([a-z0-9./-]+):([A-Za-z0-9._-]+)")
_ROW = re.compile(r"\| ([^|]+) \| ([^|]+) \| ([^|]*) \| (\d{4}-\d\d-\d\d) \|")
_OURS = "footnote"
_IMAGE_LICENCES = {
    "golang": "BSD-3-Clause",
    "jaegertracing/jaeger": "Apache-2.0",
    "milvusdb/milvus": "Apache-2.0",
    "minio/minio": "AGPL-3.0 (a server of its own in the development compose file; any S3 store does)",
    "otel/opentelemetry-collector-contrib": "Apache-2.0",
    "python": "PSF-2.0",
    "quay.io/coreos/etcd": "Apache-2.0",
}
"""By hand, from the LICENSE file of each project's repository: images carry no metadata that names one."""


def pins() -> dict[str, tuple[str, str]]:
    """Return the packages by name, each with its version and the date of its line."""
    found = {}
    for when, line in _dated(CONSTRAINTS):
        if match := _PIN.match(line):
            found[match[1]] = (match[2], when)
    return found


def images() -> dict[str, tuple[str, str]]:
    """Return the images by name, each with its tag and the date of its line."""
    found = {}
    for file in IMAGES:
        for when, line in _dated(file):
            match = _IMAGE.search(line)
            if match and match[1] != _OURS:
                found[match[1]] = (match[2], when)
    return found


def table() -> str:
    """Return the table. The date of a version that the present table has already stays."""
    before = {(row[0], row[1]): row[3] for row in rows()}
    lines = [
        "# Dependencies",
        "",
        "Made by `python deploy/dependencies.py`; a test keeps it current. The date is when we took the version.",
        "",
    ]
    for title, items in (("Package", pins()), ("Image", images())):
        lines += [f"| {title} | Version | Licence | Since |", "|---|---|---|---|"]
        for name, (version, when) in sorted(items.items(), key=lambda item: item[0].lower()):
            licence = _licence(name) if title == "Package" else _IMAGE_LICENCES[name]
            lines.append(f"| {name} | {version} | {licence} | {before.get((name, version), when)} |")
        lines.append("")
    return "\n".join(lines)


def rows() -> list[tuple[str, str, str, str]]:
    """Return the rows of the present table: name, version, licence, date."""
    if not TABLE.is_file():
        return []
    return [(row[0], row[1], row[2], row[3]) for row in _ROW.findall(TABLE.read_text(encoding="utf-8"))]


def problems() -> list[str]:
    """Return a sentence for each way in which the table is not current."""
    there = {name: version for name, version, _, _ in rows()}
    wanted = {name: version for name, (version, _) in {**pins(), **images()}.items()}
    found = [f"{name} {version} is missing or has another version" for name, version in wanted.items()
             if there.get(name) != version]  # fmt: skip
    return found + [f"{name} is not used any more" for name in there if name not in wanted]


def _dated(file: str) -> list[tuple[str, str]]:
    """Return the lines of a file, each with the date of the commit it is from; today's where there is none."""
    today = date.today().isoformat()
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    blamed = subprocess.run(
        ["git", "blame", "--date=short", "--line-porcelain", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    times = re.findall(r"^committer-time (\d+)$", blamed.stdout, re.MULTILINE)
    if len(times) != len(lines):
        return [(today, line) for line in lines]
    return [(date.fromtimestamp(int(time)).isoformat(), line) for time, line in zip(times, lines, strict=True)]


def _licence(name: str) -> str:
    """Return the licence of a package; of one that is not installed here what the present table says."""
    try:
        return str(runpy.run_path(str(ROOT / "deploy" / "licences.py"))["licence"](name))
    except metadata.PackageNotFoundError:
        return next((row[2] for row in rows() if row[0] == name), "")


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(problems()) or 0)
    TABLE.write_text(table(), encoding="utf-8")

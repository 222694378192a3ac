"""Processor time of parsing, before and after a change: `python tests/bench/parsing_before_after.py REVISION [ROUNDS]`.

Both versions of the parsers read the same files in processes of their own, by turns, so that what else runs on the
machine weighs on both. The least time of each counts; 1.00 is as fast as before, more is faster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
PATHS = ("services/ingestion/src", "libs/text/src", "libs/kit/src")
PARSE = """
import json, sys, time
from pathlib import Path
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
spent = {}
for name, paths in json.loads(sys.argv[1]).items():
    for path in [paths[0], *paths]:  # the first file once more, to load what is loaded at first use
        kind = Path(path).suffix[1:]
        start = time.process_time()
        out = BlockWriter(lambda block: block.SerializeToString() and None, Limits())
        parser_for({"htm": "html"}.get(kind, kind)).parse(Path(path), out, Limits())
        spent[name, path] = time.process_time() - start
print(json.dumps({name: sum(spent[name, path] for path in paths) for name, paths in json.loads(sys.argv[1]).items()}))
"""


def made(folder: Path) -> dict[str, list[str]]:
    """Files of tables, written for this: csv, Markdown, HTML and xlsx of the same rows under two rows of headers."""
    import openpyxl

    head = [["Region", "2022", "", "2023", ""], ["", "Men", "Women", "Men", "Women"]]
    rows = [[f"District {number}", *(str(number * at % 9973) for at in (3, 5, 7, 11))] for number in range(1, 20_001)]
    body = [head[1], *rows]
    (folder / "a.csv").write_text("\n".join(",".join(row) for row in [*head, *rows]))
    (folder / "a.md").write_text("\n".join(f"| {' | '.join(row)} |" for row in [body[0], ["---"] * 5, *rows]))
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
    (folder / "a.html").write_text(f"<html><body><table>{cells}</table></body></html>")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in [*head, *rows]:
        sheet.append([int(cell) if cell.isdecimal() else cell for cell in row])
    book.save(folder / "a.xlsx")
    return {kind: [str(folder / f"a.{kind}")] for kind in ("csv", "md", "html", "xlsx")}


def run(tree: Path, files: dict[str, list[str]]) -> dict[str, float]:
    """Seconds of processor time by kind of file, with the parsers of a tree."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / path) for path in PATHS)}
    done = subprocess.run(
        [sys.executable, "-c", PARSE, json.dumps(files)],
        env=env,
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
    )
    return {name: float(seconds) for name, seconds in json.loads(done.stdout.splitlines()[-1]).items()}


def main() -> None:
    """Print for each kind of file the seconds before and after, and the speed as a share of that before."""
    revision, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = folder / "before"
        subprocess.run(["git", "worktree", "add", "--detach", str(before), revision], cwd=ROOT, check=True, timeout=120)
        try:
            files = made(folder)
            if SHARED.is_dir():
                files["papers"] = [str(path) for path in sorted((SHARED / "aragog/pdfs").glob("*.pdf"))]
                files["filings"] = [str(path) for path in sorted((SHARED / "financebench-dev/pdfs").glob("*.pdf"))[:5]]
            spent: dict[str, list[tuple[float, float]]] = {name: [] for name in files}
            for number in range(rounds):
                trees = (before, ROOT) if number % 2 == 0 else (ROOT, before)
                by_tree = {tree: run(tree, files) for tree in trees}
                for kind, seconds in spent.items():
                    seconds.append((by_tree[before][kind], by_tree[ROOT][kind]))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(before)], cwd=ROOT, check=True, timeout=120)
    for kind, seconds in spent.items():
        old, new = min(one for one, _ in seconds), min(one for _, one in seconds)
        print(f"{kind:8} {old:7.2f} s before {new:7.2f} s after, speed {old / new:.2f}")


if __name__ == "__main__":
    main()

"""Checks that every installed package has a licence we may ship: by its metadata and by the licence files it brings.

    python deploy/licences.py     # prints what is refused and why; exits 1 if anything is

Permissive licences pass. MPL-2.0 passes, because its files are used unchanged. LGPL passes only for the packages named
below, which are imported as libraries and never changed or copied.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from importlib import metadata

ALLOWED = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "HPND", "ISC", "MIT", "MIT-0",
        "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
    }
)  # fmt: skip
LGPL = {
    "psycopg": "the driver of PostgreSQL that the jobs' library imports",
    "psycopg-binary": "its compiled part",
    "fpdf2": "writes PDFs for tests; not in the image",
}
"""Packages under the LGPL, and as what they are used."""
STATED = {
    "chardetng-py": ("MIT", "its file licenses/LICENSE"),
    "dulwich": ("Apache-2.0", "its file COPYING, which leaves the choice between this and GPL-2.0-or-later"),
    "milvus-lite": ("Apache-2.0", "LICENSE of github.com/milvus-io/milvus-lite"),
    "pypdfium2": ("BSD-3-Clause AND Apache-2.0", "REUSE.toml of its source; PDFium's parts in BUILD_LICENSES"),
    "py3langid": ("BSD-3-Clause", "its file LICENSE"),
}
"""Licences of packages whose metadata has none that can be read, and where they are stated."""
_WORDS = {
    "3-Clause BSD License": "BSD-3-Clause", "Apache": "Apache-2.0", "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0", "Apache 2.0": "Apache-2.0", "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause", "BSD-3-Clause-LBNL": "BSD-3-Clause", "ISC License (ISCL)": "ISC",
    "MIT License": "MIT", "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "DFSG approved": "MIT",
    "Python Software Foundation License": "PSF-2.0", "The Unlicense (Unlicense)": "Unlicense",
}  # fmt: skip
_SPLIT = re.compile(r"(\s+(?:AND|OR)\s+|, )")
_FILE = re.compile(r"(?:licen[cs]e|copying)", re.IGNORECASE)
_COPYLEFT = re.compile(
    r"\s*(?:GNU\s+(?:AFFERO\s+|LESSER\s+|LIBRARY\s+)?GENERAL\s+PUBLIC|SERVER\s+SIDE\s+PUBLIC|BUSINESS\s+SOURCE)\s+LICEN[CS]E",
    re.IGNORECASE,
)
_TITLE = 200
_OURS = {"footnote", "footnote-client"}


def licence(name: str) -> str:
    """Return an installed package's licences in SPDX's ids; empty when neither its metadata nor `STATED` names any."""
    return _licence(metadata.distribution(name))


def _licence(package: metadata.Distribution) -> str:
    if (plain := package.name.lower().replace("_", "-")) in STATED:
        return STATED[plain][0]
    found = package.metadata
    classified = [
        one.rpartition(" :: ")[2] for one in found.get_all("Classifier") or () if one.startswith("License ::")
    ]
    text = str(found.get("License-Expression") or ", ".join(classified) or found.get("License") or "").strip()
    parts = _SPLIT.split(text.splitlines()[0]) if text else []
    return "".join(_WORDS.get(part, part) for part in parts).replace(", ", " AND ")


def _copyleft_files(package: metadata.Distribution) -> list[str]:
    """Return the licence files of a package that begin with the title of a GPL, the SSPL or the BUSL."""
    found = []
    for file in package.files or ():
        # A package in a `_vendor` folder is a part of the installer's tools, which no image holds.
        if _FILE.search(file.name) and not file.name.endswith((".py", ".pyc")) and "_vendor" not in file.parts:
            path = package.locate_file(file)
            if path.is_file() and _COPYLEFT.match(path.read_text(encoding="utf-8", errors="replace")[:_TITLE]):
                found.append(str(file))
    return found


def refused(folders: list[str] | None = None) -> list[str]:
    """Return a sentence for each package that must not be shipped, of those in the folders or in this environment."""
    problems = []
    packages = metadata.distributions(path=folders or [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    for name, package in sorted({one.name: one for one in packages}.items()):
        if name in _OURS or name.lower() in LGPL:
            continue
        stated = _licence(package)
        parts = [part.strip("() ") for part in _SPLIT.split(stated)[::2]]
        unknown = [part for part in parts if part and part not in ALLOWED]
        if not stated:
            problems.append(f"{name} names no licence: look it up and add it to STATED")
        elif unknown:
            problems.append(f"{name}: {', '.join(unknown)} is not on the list of allowed licences")
        problems += [f"{name} ships a copyleft licence: {file}" for file in _copyleft_files(package)]
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(refused()) or 0)

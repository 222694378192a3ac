"""OpenDocument spreadsheets out of the XML of their content."""

from __future__ import annotations

import zipfile
from pathlib import Path

_SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (("office", "office"), ("style", "style"), ("table", "table"), ("text", "text"))
)


def spreadsheet(path: Path, tables: str, styles: str = "") -> Path:
    """Write a spreadsheet with these tables, and styles of theirs."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content {NAMES} office:version="1.3">'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("mimetype", _SPREADSHEET)
        entries = "".join(
            f'<manifest:file-entry manifest:full-path="{name}" manifest:media-type="{kind}"/>'
            for name, kind in (("/", _SPREADSHEET), ("content.xml", "text/xml"))
        )
        space = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
        manifest = f'<manifest:manifest xmlns:manifest="{space}" manifest:version="1.3">{entries}</manifest:manifest>'
        package.writestr("META-INF/manifest.xml", manifest)
        package.writestr("content.xml", content)
    return path

"""Which format an OLE container is: its own streams decide, not those of what is attached to it or embedded in it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from footnote_ingestion.parsers.failures import PASSWORD_PROTECTED, ParseError
from footnote_ingestion.parsers.sniff import sniff

_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def container(own: str, attached: str) -> bytes:
    """Return a compound file (MS-CFB) of empty streams: one of its own, one within a storage beside it."""
    header = struct.pack("<8s16x5H6x9I", bytes.fromhex("d0cf11e0a1b11ae1"), 62, 3, 0xFFFE, 9, 6,
                         0, 1, 1, 0, 4096, _END, 0, _END, 0)  # fmt: skip
    entries = (("Root Entry", 5, _FREE, 1), (own, 2, 2, _FREE), ("__attach_version1.0_#00000000", 1, _FREE, 3),
               (attached, 2, _FREE, _FREE))  # fmt: skip
    directory = b""
    for name, kind, beside, child in entries:
        data = f"{name}\0".encode("utf-16-le")
        directory += struct.pack("<64sHBB3I36xIQ", data, len(data), kind, 1, _FREE, beside, child, _END, 0)
    return (header + struct.pack("<109I", 0, *[_FREE] * 108) + struct.pack("<128I", _FAT, _END, *[_FREE] * 126)
            + directory)  # fmt: skip


@pytest.mark.parametrize("attached", ["WordDocument", "Workbook", "EncryptedPackage"])
def test_a_mail_is_not_taken_for_what_is_attached_to_it(attached: str, tmp_path: Path) -> None:
    path = tmp_path / "a.msg"
    path.write_bytes(container("__properties_version1.0", attached))
    assert sniff(path, "a.msg").document_type == "msg"


def test_slides_with_an_embedded_workbook_are_slides(tmp_path: Path) -> None:
    path = tmp_path / "a.ppt"
    path.write_bytes(container("PowerPoint Document", "Workbook"))
    assert sniff(path, "a.ppt").document_type == "ppt"


@pytest.mark.parametrize("kept", [2048, 1400])
def test_a_locked_file_is_known_even_if_it_is_cut_off(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(container("EncryptedPackage", "x")[:kept])
    with pytest.raises(ParseError) as failed:
        sniff(path, "a.xlsx")
    assert failed.value.reason == PASSWORD_PROTECTED

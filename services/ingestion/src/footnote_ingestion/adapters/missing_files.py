"""Refuses to start with document files missing: an empty folder or bucket, or one of another installation."""

from footnote_database.parts import Part, Parts
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_kit.logs import get_logger

from footnote_ingestion.adapters.blobs import Blobs
from footnote_ingestion.adapters.documents import DocumentTable

FILES = Part("files", "the files of documents")
_SAMPLE = 20

_log = get_logger(__name__)


async def refuse_missing_files(documents: DocumentTable, files: Blobs, where: str, parts: Parts) -> None:
    """Raise FailedPrecondition if documents are known but none of the newest ones has its file.

    If the store does not answer, the service's health check waits for it instead.
    """
    keys = await documents.newest_files(_SAMPLE)
    try:
        for key in keys:
            if await files.has(key):
                return
    except Unavailable:
        return
    if not keys:
        return
    if parts.accepts(FILES):
        _log.warning("missing_part_accepted", part=FILES.name)
        return
    raise FailedPrecondition(
        f"The files of documents are missing in {where}, or it is another installation's: put back a copy of them, "
        "with the service stopped, or start with --accept files. Without them documents are found, and can be neither "
        "downloaded nor indexed again."
    )

"""Refuses to start without the files of documents: an empty folder or bucket, or one of another installation."""

from footnote_database.parts import Part, Parts
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_kit.logs import get_logger

from footnote_ingestion.adapters.blobs import Blobs
from footnote_ingestion.adapters.documents import DocumentTable

FILES = Part("files", "the files of documents")
_SAMPLE = 20

_log = get_logger(__name__)


async def refuse_missing_files(documents: DocumentTable, files: Blobs, where: str, parts: Parts) -> None:
    """Raise FailedPrecondition where documents are known and none of the newest ones has its file.

    A store that does not answer is waited for by the service's health instead.
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

"""Files within a file, such as mail attachments: the parser of their own format reads them, under their name."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import NOTE, BlockWriter, Limits
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, PASSWORD_PROTECTED, ParseError, is_no_room
from footnote_ingestion.parsers.sniff import sniff

_MOST_FILES = 50
_MOST_DEPTH = 3
_MOST_BYTES = 50 * 1024 * 1024
"""Total limit for all attachments of a mail."""
_MOST_SECONDS = 20.0
"""Limit of processor time: attachments must not keep the mail itself from being read."""
_NOT_READ = "{count} attachments are not read, but for their names"
_LOCKED = "{count} attachments open only with a password and are not read, but for their names"
_BEYOND = "{count} attachments are too many, too large or too deep and are not read, but for their names"


class Attached:
    """Reads the attachments of a mail and of the mails in it; one instance per uploaded file."""

    def __init__(self, out: BlockWriter, limits: Limits) -> None:
        self._out = out
        self._limits = limits
        self._files = self._bytes = self._depth = 0
        self._until = time.process_time() + _MOST_SECONDS

    def read(self, name: str, data: bytes) -> None:
        """Write the file's name, then its parsed blocks, each with its place in the file; warn if there are none.

        The name precedes the file's own headings in the path of each of its blocks.
        """
        out = self._out
        out.add(NOTE, f"Attachment: {name}")
        under = [*out.heading_path(), name]
        self._files += 1
        self._bytes += len(data)
        spent = self._bytes > _MOST_BYTES or time.process_time() > self._until
        if self._files > _MOST_FILES or self._depth >= _MOST_DEPTH or spent:
            out.warn(CONTENT_LEFT_OUT, _BEYOND, under=under)
            return
        before = out.block_count
        self._depth += 1
        try:
            with out.within(name), tempfile.TemporaryDirectory() as folder:
                self._parse(Path(folder) / "attached", name, data)
        except ParseError as error:
            out.warn(CONTENT_LEFT_OUT, _LOCKED if error.reason == PASSWORD_PROTECTED else _NOT_READ, under=under)
        except MemoryError:
            raise
        except Exception as error:  # a library failed on unexpected input: that file is lost, not the mail
            if is_no_room(error):
                raise
            out.warn(CONTENT_LEFT_OUT, _NOT_READ, under=under)
        else:
            if out.block_count == before:
                out.warn(CONTENT_LEFT_OUT, _NOT_READ, under=under)
        finally:
            self._depth -= 1

    def _parse(self, path: Path, name: str, data: bytes) -> None:
        path.write_bytes(data)
        parser = parser_for(sniff(path, name).document_type)
        if isinstance(parser, ReadsAttached):
            parser.read_within(path, self._out, self)
        else:
            parser.parse(path, self._out, self._limits)


class ReadsAttached:
    """A parser of files that hold others; inside another file it shares that file's limits."""

    def read_within(self, path: Path, out: BlockWriter, attached: Attached) -> None:
        """Write a file that is attached to another."""
        raise NotImplementedError

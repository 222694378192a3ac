"""Streams multipart forms: first the fields, then one file, which is never held whole."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from footnote_kit.errors import InvalidArgument
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

MAX_FIELDS_BYTES = 1024 * 1024
MAX_PARTS = 100


@dataclass(frozen=True, slots=True)
class Form:
    """A form whose file is still arriving."""

    fields: dict[str, list[str]]
    filename: str
    content: AsyncIterator[bytes]


async def read_form(request: Request) -> Form:
    """Read up to the file and return it as a stream; raises InvalidArgument for a broken form or a missing file.

    Fields must come before the file, because its bytes are passed on while they arrive.
    """
    reader = _Reader(_boundary(request))
    body = aiter(request.stream())
    while not reader.in_file:
        if reader.ended or not await reader.feed(body):
            raise InvalidArgument.field("file", "must be a part of the form, after its fields")
    return Form(reader.fields, reader.filename, _content(reader, body))


async def read_files(request: Request, most_bytes: int) -> tuple[dict[str, list[str]], list[tuple[str, bytes]]]:
    """Return a form's fields and its files with their names; raises as `read_form`, and over `most_bytes` of files."""
    reader = _FilesReader(_boundary(request), most_bytes)
    body = aiter(request.stream())
    while not reader.ended:
        if not await reader.feed(body):
            raise InvalidArgument("The form is incomplete")
    if not reader.files:
        raise InvalidArgument.field("file", "must be a part of the form, after its fields")
    if reader.late:
        raise InvalidArgument("The fields of the form must come before its files")
    return reader.fields, [(name, bytes(data)) for name, data in reader.files]


def _boundary(request: Request) -> bytes:
    _, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise InvalidArgument("The form has no boundary")
    return boundary


async def _content(reader: "_Reader", body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while True:
        while reader.data:
            yield reader.data.popleft()
        if reader.file_ended:
            break
        if not await reader.feed(body):
            raise InvalidArgument("The form ends in the middle of the file")
    # Read to the end of the form, so that parts after the file are not silently lost.
    while not reader.ended and await reader.feed(body):
        pass
    if reader.late:
        raise InvalidArgument("The fields of the form must come before the file, and there may be one file only")


class _Reader:
    """Stores the parser's callbacks as state."""

    def __init__(self, boundary: bytes) -> None:
        self.fields: dict[str, list[str]] = {}
        self.filename = ""
        self.data: deque[bytes] = deque()
        self.in_file = self.file_ended = self.ended = self.late = False
        self._headers: dict[bytes, bytes] = {}
        self._header = self._value = b""
        self._name = ""
        self._text = bytearray()
        self._parts = self._held = 0
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._part_data,
                "on_part_end": self._part_end,
                "on_end": self._end,
            },
        )

    async def feed(self, body: AsyncIterator[bytes]) -> bool:
        """Parse the next bytes; return False at the end."""
        chunk = await anext(body, b"")
        if not chunk:
            return False
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise InvalidArgument("The form is not valid multipart/form-data") from None
        return True

    def _part_begin(self) -> None:
        self._headers.clear()
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise InvalidArgument(f"The form must have at most {MAX_PARTS} parts")
        self.late = self.late or self.file_ended

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if self.file_ended:
            return
        if b"filename" in options or self._name == "file":
            self.in_file = True
            self.filename = options.get(b"filename", b"").decode("utf-8", "replace")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self.in_file and not self.file_ended:
            self.data.append(data[start:end])
            return
        self._held += end - start
        if self._held > MAX_FIELDS_BYTES:
            raise InvalidArgument(f"The fields of the form must have at most {MAX_FIELDS_BYTES} bytes")
        self._text += data[start:end]

    def _part_end(self) -> None:
        if self.in_file and not self.file_ended:
            self.file_ended = True
            return
        try:
            self.fields.setdefault(self._name, []).append(self._text.decode())
        except UnicodeDecodeError:
            raise InvalidArgument.field(self._name, "must be UTF-8") from None
        self._text.clear()

    def _end(self) -> None:
        self.ended = True


class _FilesReader(_Reader):
    """Holds several files, of `most_bytes` together."""

    def __init__(self, boundary: bytes, most_bytes: int) -> None:
        super().__init__(boundary)
        self.files: list[tuple[str, bytearray]] = []
        self._most = most_bytes
        self._received = 0

    def _headers_finished(self) -> None:
        super()._headers_finished()
        if self.in_file:
            self.files.append((self.filename, bytearray()))
        elif self.files:
            self.late = True

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if not self.in_file:
            super()._part_data(data, start, end)
            return
        self._received += end - start
        if self._received > self._most:
            raise InvalidArgument.field("file", f"must have at most {self._most} bytes, all files together")
        self.files[-1][1].extend(data[start:end])

    def _part_end(self) -> None:
        if self.in_file:
            self.in_file = False
        else:
            super()._part_end()

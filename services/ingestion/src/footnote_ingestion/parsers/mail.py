"""Mail: eml by the standard library, msg (Outlook) by its OLE streams: subject, headers, body, attachments."""

from __future__ import annotations

import email
import email.policy
import email.utils
import hashlib
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from email.message import EmailMessage
from functools import partial
from pathlib import Path

import olefile  # type: ignore[import-untyped]
from footnote_text.declared_encodings import as_browsers

from footnote_ingestion.parsers.attached import Attached, ReadsAttached
from footnote_ingestion.parsers.base import NOTE, BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    PARTS_UNREADABLE,
    PASSWORD_PROTECTED,
    ParseError,
)
from footnote_ingestion.parsers.outlook import sent_at
from footnote_ingestion.parsers.texts.encoding import decode, decode_declared
from footnote_ingestion.parsers.texts.html import write_html
from footnote_ingestion.parsers.texts.plain import write_text
from footnote_ingestion.parsers.texts.rtf import write_rtf
from footnote_ingestion.parsers.texts.rtf_compressed import decompress

_Write = Callable[[BlockWriter], None]
_HEADERS = ("From", "To", "Cc", "Date")
_LINE_END = re.compile(r"[\r\n]+")
_WORD, _ADDRESS = re.compile(r"\w+"), re.compile(r"https?://\S++")
_ENCODED = re.compile(r"(?<==\?)[^?*\s]{1,40}+(?=[?*])")
_LONGEST_HEADER = 16_384
"""In characters: the standard library takes quadratic time in a header's length."""
_MAX_PARTS = 200
_MAX_DEPTH = 20
_ALTERNATIVE = "multipart/alternative"
_BODIES = ("text/plain", "text/html", "text/enriched")
_OF_PAGES = ("text/css", "text/javascript", "text/ecmascript")
_FOR_PROGRAMS = (*_OF_PAGES, "text/xml")
# Property tags of Outlook messages: 001F is UTF-16 text, 001E text in the system's code page, 0102 binary.
_SUBJECT, _BODY, _HTML, _SENDER, _TO, _CC = "0037", "1000", "1013", "0C1A", "0E04", "0E03"
_RTF, _LONGEST_RTF = "__substg1.0_10090102", 64 * 1024 * 1024
_ATTACHED, _UNNAMED = "3701", "attachment"
_SECRET = (".pgp-encrypted", ".p7m")
_MESSAGE_CLASS, _TRANSPORT_HEADERS, _ATTACHMENT_NAMES = "001A", "007D", ("3707", "3704")


class _Policy(email.policy.EmailPolicy):
    """Reads the encodings that words of headers declare as browsers read them."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, _ENCODED.sub(lambda one: as_browsers(one[0]), value)


_POLICY = _Policy()


class EmlParser(ReadsAttached):
    """Reads RFC 822 messages."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text as a message."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write subject, headers and body, then the attachments, each read as its own format."""
        return self._read(path, out, Attached(out, limits))

    def read_within(self, path: Path, out: BlockWriter, attached: Attached) -> None:
        """Write a message that is attached to another as a file."""
        self._read(path, out, attached)

    def _read(self, path: Path, out: BlockWriter, attached: Attached) -> Properties:
        message = email.message_from_bytes(path.read_bytes(), policy=_POLICY)
        assert isinstance(message, EmailMessage)
        subject = _header(message, "Subject")
        _write_message(message, out, _Count(attached))
        sender = email.utils.parseaddr(_header(message, "From"))
        return Properties(
            title=subject,
            authors=[name for name in (sender[0] or sender[1],) if name],
            file_time=_moment(_header(message, "Date")),
        )


class MsgParser(ReadsAttached):
    """Reads Outlook messages."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the container."""
        _ole(path).close()

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write subject, headers and body, then the attachments, each read as its own format."""
        return self._read(path, out, Attached(out, limits))

    def read_within(self, path: Path, out: BlockWriter, attached: Attached) -> None:
        """Write a message that is attached to another as a file."""
        self._read(path, out, attached)

    def _read(self, path: Path, out: BlockWriter, attachments: Attached) -> Properties:
        with _ole(path) as ole:
            subject, sender = inline(_text(ole, _SUBJECT)), inline(_text(ole, _SENDER))
            headers = email.message_from_string(_text(ole, _TRANSPORT_HEADERS), policy=_POLICY)
            assert isinstance(headers, EmailMessage)
            date = _header(headers, "Date") or sent_at(ole)
            folders = sorted({entry[0] for entry in ole.listdir() if entry[0].startswith("__attach")})
            attached = [
                next((name for tag in _ATTACHMENT_NAMES if (name := _text(ole, tag, one))), "") for one in folders
            ]
            body, html = _text(ole, _BODY), _binary(ole, _HTML)
            secret = "SMIME" in _text(ole, _MESSAGE_CLASS).upper() or any(one.endswith(_SECRET) for one in attached)
            if secret and not body.strip():
                raise ParseError(PASSWORD_PROTECTED, "The message is encrypted.", "Decrypt it, then upload it again.")
            _write_head(
                out, subject, (("From", sender), ("To", _text(ole, _TO)), ("Cc", _text(ole, _CC)), ("Date", date))
            )
            as_plain: _Write = partial(write_text, body, with_lines=False)

            def as_html(to: BlockWriter) -> None:
                write_html(decode(html, to), to)

            if html and (not body.strip() or _html_says_more(as_plain, as_html, out)):
                as_html(out)
            elif body.strip():
                as_plain(out)
            elif ole.exists(_RTF):
                _write_rtf(ole.openstream(_RTF).read(), out)
            for folder, name in zip(folders, map(inline, attached), strict=True):
                stream = f"{folder}/__substg1.0_{_ATTACHED}0102"
                if ole.exists(stream):
                    attachments.read(name or _UNNAMED, ole.openstream(stream).read())
                    continue
                out.add(NOTE, f"Attachment: {name}" if name else "")
                out.warn(CONTENT_LEFT_OUT, "{count} attachments are not read, but for their names")
        return Properties(title=subject, authors=[sender] if sender else [], file_time=_moment(date))


def _write_rtf(data: bytes, out: BlockWriter) -> None:
    """Write a body that is compressed RTF."""
    try:
        write_rtf(decompress(data, _LONGEST_RTF), out)
    except ValueError:
        out.warn(PARTS_UNREADABLE, "{count} bodies of messages, in compressed RTF, could not be read")


def _write_head(out: BlockWriter, subject: str, headers: Iterable[tuple[str, str]]) -> None:
    out.heading(subject, 1)
    for name, value in headers:
        if value := inline(value):
            out.add(NOTE, f"{name}: {value}")


def _header(message: EmailMessage, name: str) -> str:
    """Return a header's text; a malformed one as far as it is readable."""
    try:
        long = _long_header(message, name)
        if long:
            return inline(str(_POLICY.header_factory(name, _LINE_END.sub("", _cut(long)))))
        return inline(str(message.get(name, "")))
    except (ArithmeticError, ValueError, IndexError, AttributeError, LookupError, TypeError):
        raw = dict(message.raw_items()).get(name, "")
        return inline(_cut(str(raw)))


def _long_header(message: EmailMessage, name: str) -> str:
    """Return a header as written if it exceeds the length limit, else nothing."""
    return next(
        (str(raw) for key, raw in message.raw_items() if key.lower() == name.lower() and len(raw) > _LONGEST_HEADER), ""
    )


def _cut(header: str) -> str:
    """Return the part of a header that is read: whole addresses if it lists them."""
    if len(header) <= _LONGEST_HEADER:
        return header
    end = header.rfind(",", 0, _LONGEST_HEADER)
    return header[: end if end > 0 else _LONGEST_HEADER]


class _Count:
    """The number of parts of a file read so far, and the nesting depth of messages."""

    def __init__(self, attached: Attached) -> None:
        self.parts = self.depth = 0
        self.attached = attached
        self.of_forms: set[tuple[str, bytes]] = set()
        """The names and hashes of files read: forms of a body may each hold the same ones."""


def _write_message(message: EmailMessage, out: BlockWriter, count: _Count) -> None:
    """Write a message's subject, headers and parts in order; nested messages are written likewise."""
    for name in ("Subject", *_HEADERS):
        if long := _long_header(message, name):
            rest = long[len(_cut(long)) :]
            words = f"{{count}} addresses or words of headers longer than {_LONGEST_HEADER} characters are not read"
            out.warn(CONTENT_LEFT_OUT, words, max(rest.count(","), 1))
    _write_head(out, _header(message, "Subject"), ((name, _header(message, name)) for name in _HEADERS))
    bodies = _bodies(message, out)
    _write_all(bodies, out)
    _write_beside(message, bodies, out, count)


def _write_beside(
    part: EmailMessage,
    bodies: list[EmailMessage],
    out: BlockWriter,
    count: _Count,
    *,
    another_form: bool = False,
    within: tuple[str, ...] = (),
) -> None:
    """Write the parts that are neither the body nor, in another form of it, its text.

    `within` has the types of the multiparts around the part, the outermost first.
    """
    if part.is_multipart() and part.get_content_type() != "message/rfc822" and count.depth < _MAX_DEPTH:
        inner = _parts(part)
        alternative = part.get_content_type() == _ALTERNATIVE
        chosen = [alternative and any(text in bodies for text in one.walk()) for one in inner]
        if alternative and not any(chosen) and not another_form and count.parts < _MAX_PARTS:
            own = [one for one in _bodies(part, out) if one.get_content_disposition() != "attachment"]
            _write_all(own, out)
            bodies = [*bodies, *own]
            chosen = [any(text in own for text in one.walk()) for one in inner]
        count.depth += 1
        for one, has_body in zip(inner, chosen, strict=True):
            other = another_form or (any(chosen) and not has_body)
            _write_beside(one, bodies, out, count, another_form=other, within=(*within, part.get_content_type()))
        count.depth -= 1
        return
    count.parts += 1
    if part in bodies or (another_form and _says_the_same(part, within)):
        return
    if _ALTERNATIVE in within and within[-1] == "multipart/related" and _is_decoration(part):
        return
    if count.parts > _MAX_PARTS or count.depth >= _MAX_DEPTH:
        out.warn(CONTENT_LEFT_OUT, f"{{count}} parts beyond {_MAX_PARTS} are not read")
        return
    name = inline(str(part.get_filename() or ""))
    if part.is_multipart():
        count.depth += 1
        for one in _parts(part):
            _write_message(one, out, count)
        count.depth -= 1
        return
    if name:
        data = part.get_payload(decode=True)
        data = data if isinstance(data, bytes) else b""
        one_of_form = (name, hashlib.sha256(data).digest())
        if _ALTERNATIVE not in within or one_of_form not in count.of_forms:
            count.attached.read(name, data)
            count.of_forms.add(one_of_form)
    elif (kind := part.get_content_type()) in _BODIES or (_ALTERNATIVE not in within and _has_words(kind)):
        _write_part(part, out)
    elif kind not in (*_OF_PAGES, "text/calendar"):
        out.warn(CONTENT_LEFT_OUT, "{count} parts are not read")


def _has_words(kind: str) -> bool:
    return kind.startswith("text/") and kind not in _FOR_PROGRAMS


def _bodies(message: EmailMessage, out: BlockWriter) -> list[EmailMessage]:
    """Return the parts to read as the body: of plain text and HTML, the one that says more."""
    plain, html = _body(message, "plain"), _body(message, "html")
    if plain is not None and html is not None and (forms := _forms(message, plain, html)):
        as_plain, as_html = forms
        html_says_more = _html_says_more(partial(_write_all, as_plain), partial(_write_all, as_html), out)
        return as_html if html_says_more else as_plain
    if body := plain or html:
        return [body]
    return [part for part in message.walk() if part.get_content_maintype() == "text"][:1]


def _forms(message: EmailMessage, *texts: EmailMessage) -> list[list[EmailMessage]]:
    """Return, for each of some texts, the text parts of the body's form that has it; empty if they are of one form."""
    for alternative in message.walk():
        if alternative.get_content_type() != _ALTERNATIVE or not alternative.is_multipart():
            continue
        forms = _parts(alternative)
        found = [next((form for form in forms if text in form.walk()), None) for text in texts]
        if None not in found and len(set(map(id, found))) == len(texts):
            return [_texts(form, text)[:_MAX_PARTS] for form, text in zip(found, texts, strict=True) if form]
    return []


def _texts(form: EmailMessage, chosen: EmailMessage) -> list[EmailMessage]:
    """Return the text parts of a form of a body in order; of forms within it only the chosen text."""
    if form.get_content_type() == _ALTERNATIVE:
        return [one for one in form.walk() if one is chosen]
    if form.is_multipart() and form.get_content_type() != "message/rfc822":
        return [text for one in _parts(form) for text in _texts(one, chosen)]
    return [form] if form is chosen or (_is_text(form) and form.get_content_type() in _BODIES) else []


def _parts(part: EmailMessage) -> list[EmailMessage]:
    return part.get_payload()  # type: ignore[return-value]


def _is_text(part: EmailMessage) -> bool:
    """Return whether a part is text of a body, not an attached file."""
    attached = part.get_filename() or part.get_content_disposition() == "attachment"
    return part.get_content_maintype() == "text" and not attached


def _says_the_same(part: EmailMessage, within: tuple[str, ...]) -> bool:
    """Return whether a part in another form of a body is that form's text, which may have a name."""
    named = within[-1:] == (_ALTERNATIVE,) and part.get_content_disposition() != "attachment"
    text = part.get_content_maintype() == "text" and named
    return text or _is_text(part) or part.get_content_type() == "text/calendar"


def _is_decoration(part: EmailMessage) -> bool:
    """Return whether a part beside a page is a picture that the page shows, such as a logo."""
    shown = "Content-ID" in part and part.get_content_disposition() != "attachment"
    return shown and part.get_content_maintype() == "image"


def _body(message: EmailMessage, form: str) -> EmailMessage | None:
    try:
        return message.get_body(preferencelist=(form,))  # type: ignore[return-value]
    except (AttributeError, KeyError, ValueError):
        return None


def _html_says_more(plain: _Write, html: _Write, out: BlockWriter) -> bool:
    """Return whether a body in HTML has more words of its own than in plain text; warn of those of the other one."""
    of_plain, of_html = _words(plain), _words(html)
    of_html_alone, of_plain_alone = len(of_html - of_plain), len(of_plain - of_html)
    chosen = of_html_alone > of_plain_alone
    lost, form = (of_plain_alone, "plain text") if chosen else (of_html_alone, "HTML")
    if lost:
        out.warn(CONTENT_LEFT_OUT, f"{{count}} words stand only in the {form} of a message and are not read", lost)
    return chosen


def _words(write: _Write) -> set[str]:
    """Return the words that a reader of a body sees, in lower case; addresses of the web are none."""
    texts: list[str] = []
    write(BlockWriter(lambda block: texts.append(block.text), Limits()))
    return set(_WORD.findall(_ADDRESS.sub(" ", " ".join(texts)).lower()))


def _write_all(parts: list[EmailMessage], out: BlockWriter) -> None:
    for part in parts:
        _write_part(part, out)


def _write_part(part: EmailMessage, out: BlockWriter) -> None:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return
    text = decode_declared(data, part.get_content_charset() or "", out)
    if part.get_content_subtype() == "html":
        write_html(text, out)
    else:
        write_text(text, out, with_lines=False)


def _ole(path: Path) -> olefile.OleFileIO:
    try:
        return olefile.OleFileIO(str(path))
    except (OSError, ValueError, IndexError) as error:
        raise ParseError(CORRUPT, "The message is damaged and cannot be opened.") from error


def _text(ole: olefile.OleFileIO, tag: str, folder: str = "") -> str:
    prefix = f"{folder}/" if folder else ""
    for kind, codec in (("001F", "utf-16-le"), ("001E", "")):
        name = f"{prefix}__substg1.0_{tag}{kind}"
        if ole.exists(name):
            data: bytes = ole.openstream(name).read()
            return data.decode(codec, errors="replace") if codec else decode(data)
    return ""


def _binary(ole: olefile.OleFileIO, tag: str) -> bytes:
    name = f"__substg1.0_{tag}0102"
    return bytes(ole.openstream(name).read()) if ole.exists(name) else _text(ole, tag).encode()


def _moment(text: str) -> datetime | None:
    try:
        return email.utils.parsedate_to_datetime(text)
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return None

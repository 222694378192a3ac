"""Reads mail headers, for mailboxes of every kind."""

from email.header import decode_header, make_header
from email.message import Message
from email.parser import HeaderParser

_PARSER = HeaderParser()
_LONGEST_SUBJECT = 80


def headers(head: bytes) -> Message:
    """Return a mail's headers; illegal bytes are read as UTF-8, the most common encoding."""
    return _PARSER.parsestr(head.decode("utf-8", "replace"))


def header_text(header: object) -> str:
    """Return a header's text, decoded, on one line."""
    try:
        found = str(make_header(decode_header(str(header))))
    except (ValueError, LookupError):
        found = str(header)
    return " ".join(found.split()).encode("utf-8", "replace").decode("utf-8")


def mail_file(subject: str) -> str:
    """Return the file name of a mail's document."""
    kept = "".join(one if one.isalnum() or one in " -_.,()" else " " for one in subject)
    return f"{' '.join(kept.split())[:_LONGEST_SUBJECT].strip(' .') or 'mail'}.eml"

"""Decodes text files: byte order marks, UTF-8, UTF-16/32 without a mark, then the likeliest encoding.

The whole file is examined. The result records guesses and the number of undecodable bytes. Guesses come from chardetng,
the detector of Firefox. Among the encodings of Latin script, which differ in few letters, letters decide: they must
belong to the language of the decoded text.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from chardetng_py import EncodingDetector
from footnote_text.declared_encodings import as_browsers
from footnote_text.language import detect

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import BYTES_REPLACED, ENCODING_GUESSED

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UTF8 = ("utf-8", "utf-8-sig")
_SAMPLE = 65_536
_LANGUAGE_SAMPLE = 4_000
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_NOT_CONTROLS = bytes(set(range(256)) - set(_CONTROLS))
_HIGH_BYTES = bytes(range(128, 256))
_LATIN = ("cp1252", "cp1250", "iso8859-2", "cp1254", "cp1257", "iso8859-4", "iso8859-15")
# Python's names for the detector's encodings; its decoders are the web's larger variants.
_WIDER = {"gbk": "gb18030", "shift_jis": "cp932", "euc-kr": "cp949", "iso-8859-8-i": "iso-8859-8", "big5": "big5hkscs"}
# A few bytes that do not fit these do not speak against them: texts in other encodings have many.
_OF_MANY_BYTES = ("cp932", "cp949", "gb18030", "cp50221", "cp51932")
_ESCAPES = (
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
    (re.compile(rb"\x1b(?:\$[@B]|\([JI]|\$\(D)"), "iso2022_jp_ext"),
    (re.compile(rb"\x1b\$[@B]"), "cp50221"),
)
_LETTERS: dict[str, frozenset[str]] = {
    language: frozenset(letters + letters.upper())
    for language, letters in {
        "af": "áèéêëîïôöûü",
        "bs": "čćđšž",
        "ca": "àçéèíïóòúü",
        "cs": "áčďéěíňóřšťúůýž",
        "cy": "âêîôûŵŷäëïöẅÿáéíóúàèìòù",
        "da": "æøåéáü",
        "de": "äöüßé",
        "en": "éèêëïôöçñæœ",
        "es": "áéíñóúü",
        "et": "äõöüšž",
        "eu": "ñçü",
        "fi": "äöåšž",
        "fo": "áðíóúýæø",
        "fr": "àâæçéèêëîïôœùûüÿ",
        "ga": "áéíóú",
        "gl": "áéíñóúïü",
        "hr": "čćđšž",
        "hu": "áéíóöőúüű",
        "is": "áðéíóúýþæö",
        "it": "àèéìíîòóùú",
        "lt": "ąčęėįšųūž",
        "lv": "āčēģīķļņšūž",
        "nb": "æøåéèêóòôü",
        "nl": "áéèëêïíóöúü",
        "nn": "æøåéèêóòôü",
        "no": "æøåéèêóòôü",
        "pl": "ąćęłńóśźż",
        "pt": "àáâãçéêíóôõúü",
        "ro": "ăâîșțşţ",
        "sk": "áäčďéíĺľňóôŕšťúýž",
        "sl": "čšž",
        "sq": "ëç",
        "sv": "åäöéàü",
        "tr": "çğıöşüâîûİ",
    }.items()
}
"""Letters beyond a to z of languages in Latin script, from their orthographies, with the letters of loan words."""
_NON_ASCII = re.compile("[^\x00-\x7f]")
# A superscript, a fraction or a currency sign inside a word is a letter of another encoding.
_SIGN_IN_WORD = re.compile(r"(?<=[^\W\d_])[¡-©«-´¶-¹»-¿×÷](?=[^\W\d_])")
# Limits on a text's share of control bytes, and of characters that encode no letter.
_CONTROL_SHARE, _BAD_SHARE = 0.02, 0.05


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and how it was decoded; `replaced` counts U+FFFD in place of bytes, `nulls` dropped NUL bytes."""

    text: str
    encoding: str
    guessed: bool = False
    replaced: int = 0
    nulls: int = 0


def guess(data: bytes) -> str:
    """Return the codec that reads `data` (a file or its beginning), or "" when it does not look like text."""
    return _find(data)[0]


def is_plain(data: bytes) -> bool:
    """Return whether bytes are certainly text: no NUL, no control characters, and valid in some encoding."""
    return not data.translate(None, _NOT_CONTROLS) and bool(guess(data))


def read(data: bytes) -> Decoded:
    """Return the text of a file; bytes that fit no encoding become the replacement character."""
    name, guessed = _find(data)
    name = name or "utf-8"
    nulls = 0
    if b"\0" in data and not name.startswith("utf-16") and not name.startswith("utf-32"):
        nulls = data.count(0)
        data = data.replace(b"\0", b"")
    text = data.decode(name, errors="replace")
    own = data.count("\ufffd".encode()) if name in _UTF8 else 0
    replaced = max(text.count("\ufffd") - own, 0)
    return Decoded(text, name, guessed, replaced, nulls)


def decode_declared(data: bytes, encoding: str, out: BlockWriter) -> str:
    """Decode as browsers do with the encoding that a text declares if that fits, else with the likeliest.

    UTF-16 and UTF-32 fit no text without NUL bytes: nearly any bytes would be signs of Chinese in them.
    """
    name = as_browsers(encoding)
    try:
        if name.startswith(("utf-16", "utf-32")) and b"\0" not in data:
            return decode(data, out)
        return data.decode(name)
    except UnicodeDecodeError:
        found = read(data)
        if name in _OF_MANY_BYTES and (found.encoding in _LATIN or data.isascii()):
            text = data.decode(name, errors="replace")
            bad, high = text.count("\ufffd"), len(data) - len(data.translate(None, _HIGH_BYTES))
            if bad <= _BAD_SHARE * (high or len(data)):
                out.warn(BYTES_REPLACED, f"{{count}} bytes are not {name} and were replaced by U+FFFD", bad)
                return text
        return decode(data, out)
    except (LookupError, ValueError):
        return decode(data, out)


def decode(data: bytes, out: BlockWriter | None = None) -> str:
    """Return the text of a file; guesses and undecodable bytes are noted in `out`."""
    found = read(data)
    if out is not None:
        if found.guessed:
            out.warn(ENCODING_GUESSED, f"the encoding is not declared and was taken for {found.encoding}", 0)
        if found.replaced:
            words = f"{{count}} bytes are not {found.encoding} and were replaced by U+FFFD"
            out.warn(BYTES_REPLACED, words, found.replaced)
        if found.nulls:
            out.warn(BYTES_REPLACED, "{count} NUL bytes were left out", found.nulls)
    return found.text


def _find(data: bytes) -> tuple[str, bool]:
    """Return the codec, "" for binary data, and whether it is a guess."""
    if not data:
        return "utf-8", False
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name, False
    head = data[:_SAMPLE]
    if b"\x1b" in head:
        for escape, name in _ESCAPES:
            if escape.search(head) and _decodes(data, name):
                return name, True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    nulls = b"\0" in head
    if controls:
        if name := _wide(head):
            return name, True
        data = data.replace(b"\0", b"")
        head = data[:_SAMPLE]
        controls = len(head) - len(head.translate(None, _CONTROLS))
        if not head or controls > len(head) * _CONTROL_SHARE:
            return "", False
    if _is_utf8(data):
        return "utf-8", False
    # Non-ASCII bytes between NULs are pixels or numbers.
    if nulls and len(head) - len(head.translate(None, _HIGH_BYTES)) > 0.3 * len(head):
        return "", False
    return _legacy(data), True


def _is_utf8(data: bytes) -> bool:
    """Return whether it is UTF-8 except for a few bad bytes: other encodings hardly ever form valid sequences."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":  # truncated inside a character
            return True
        text = data.decode("utf-8", errors="replace")
        bad = text.count("\ufffd")
        return len(_NON_ASCII.findall(text)) - bad >= 4 * bad
    return True


def _wide(head: bytes) -> str:
    """Detect UTF-32 or UTF-16 without a mark, by the places of zero and control bytes, and by decoding."""
    zeros = [head[k::4].count(0) for k in range(4)]
    quarter = max(len(head) // 4, 1)
    if zeros[0] >= quarter * 0.9 and zeros[1] >= quarter * 0.9:
        names = ["utf-32-be"]
    elif zeros[3] >= quarter * 0.9 and zeros[2] >= quarter * 0.9:
        names = ["utf-32-le"]
    else:
        names = ["utf-16-le", "utf-16-be"]
    likeliest = max(names, key=lambda name: _plausible(head, name))
    return likeliest if _plausible(head, likeliest) > 0 else ""


def _plausible(head: bytes, name: str) -> float:
    """Return the share of line breaks, spaces and full stops, 0.0 if there is anything that no text holds."""
    whole = head[: len(head) // 4 * 4] if name.startswith("utf-32") else head[: len(head) // 2 * 2]
    if whole[-2:] and name.startswith("utf-16") and 0xD8 <= whole[-1 if name.endswith("le") else -2] <= 0xDB:
        whole = whole[:-2]  # split between the halves of a character
    try:
        text = whole.decode(name)
    except UnicodeDecodeError:
        return 0.0
    wrong = sum(1 for char in text if not (char.isprintable() or char.isspace() or char in "\0\x1b\u200b\u200d\ufeff"))
    if not text or wrong > len(text) * 0.01:
        return 0.0
    return sum(text.count(sign) for sign in " \n.,:。、，．　") / len(text)


def _legacy(data: bytes) -> str:
    """Return the likeliest 8-bit or multi-byte encoding, "" if none decodes it."""
    detector = EncodingDetector()
    detector.feed(data, last=True)
    found = detector.guess(tld=None, allow_utf8=False).lower()
    found = _WIDER.get(found, found)
    name = codecs.lookup(found).name
    if name in _LATIN:
        sample = _sample(data)
        name = min((name, *(other for other in _LATIN if other != name)), key=lambda one: _foreign(sample, one))
    bad = data.decode(name, errors="replace").count("\ufffd")
    high = len(data) - len(data.translate(None, _HIGH_BYTES))
    if bad > _BAD_SHARE * high and name not in _LATIN:
        name, bad = "cp1252", data.decode("cp1252", errors="replace").count("\ufffd")
    if name in _LATIN and high > 0.4 * len(data) and len(data) > 64:  # no text in Latin script has that many accents
        return ""
    return name


def _sample(data: bytes) -> bytes:
    """Return the lines with non-ASCII characters, as far as they are needed to detect the encoding."""
    lines: list[bytes] = []
    size = 0
    for line in data[: 16 * _SAMPLE].splitlines():
        if not line.isascii():
            lines.append(line[:_LANGUAGE_SAMPLE])
            size += len(lines[-1])
            if size > _LANGUAGE_SAMPLE:
                break
    return b"\n".join(lines)


def _foreign(sample: bytes, name: str) -> int:
    """Return how many decoded characters do not belong to the language detected in that text."""
    text = sample.decode(name, errors="replace")
    own = _LETTERS.get(detect(text))
    found = 0
    for char in _NON_ASCII.findall(text):
        if char == "\ufffd" or char < "\xa0":
            found += 3
        elif char.isalpha() and own is not None and char not in own:
            found += 1
    return found + len(_SIGN_IN_WORD.findall(text))


def _decodes(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except UnicodeDecodeError:
        return False
    return True

"""Removes keys and passwords from text before it leaves the process: errors, logs, spans, health, answers.

The process's secrets are known by value, from the environment and from the code that reads a key. They are found in
any encoding that providers, proxies and libraries use. Text that has the form of a secret is removed too. All of this
is linear in the text.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

SHOWN = "[redacted]"
_SHORTEST = 6
_GRAM = 8  # characters of a secret that identify it
_LONGEST_TOKEN = 4096
# Common values that are no secret: a password like these cannot be removed from text.
_WORDS = frozenset(
    """footnote postgres postgresql password default admin administrator milvus minioadmin localhost changeme secret
    builtin openai ollama gemini anthropic""".split()  # noqa: SIM905
)
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)")
_NO_SECRET_NAME = re.compile(r"(?:_FILE|_PATH|_DIR|_URL|_PER_MINUTE|_TIMEOUT|_BUDGET|TOKENS)$")
_NUMBER = re.compile(r"[0-9.]{1,8}")

_USERINFO = re.compile(r"""\b([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/?#"'<>\\]{1,512}@""")
_AUTHORIZATION = re.compile(r"""(?i)\b(bearer|basic)(\s{1,4}|%20|\+)[A-Za-z0-9._~+/=-]{8,}""")
_KEYS = re.compile(
    r"\b(?:(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|fn_[A-Za-z0-9_.-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|hf_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,})"
)
# Keys as providers mask them: "sk-ab***xyz", "sk-ab…xyz", "sk-abXXXXXXXX".
_MASK = re.compile(r"[*•●]{3,200}|\.{3,20}|…|[xX]{4,200}")
_BEFORE = re.compile(r"[\w+/=-]{1,40}\Z")
_AFTER = re.compile(r"[\w+/=-]{0,40}")
_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=.%]{8,}")


class Secrets:
    """The secrets of a process, and the encoded forms to search for."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._grams: frozenset[str] = frozenset()

    def add(self, values: Iterable[str]) -> None:
        """Add secrets; values too short to be distinguished from ordinary words are left out."""
        fresh = {value.strip() for value in values} - self._known
        fresh = {value for value in fresh if len(value) >= _SHORTEST and value.lower() not in _WORDS}
        if not fresh:
            return
        self._known |= fresh
        forms = {form for secret in self._known for form in _forms(secret)}
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        self._grams = frozenset(gram for secret in self._known for gram in _telling(secret))

    def redact(self, text: str) -> str:
        """Return the text without secrets."""
        if not text:
            return text
        text = _USERINFO.sub(rf"\1{SHOWN}@", text)
        for form in self._forms:
            if form in text:
                text = text.replace(form, SHOWN)
        if self._grams:
            text = _TOKEN.sub(self._fragment, text)
        text = _AUTHORIZATION.sub(rf"\1 {SHOWN}", text)
        text = _KEYS.sub(SHOWN, text)
        return self._masked(text)

    def _fragment(self, match: re.Match[str]) -> str:
        token = match[0]
        head = token[:_LONGEST_TOKEN]
        parts = [head[at : at + _GRAM] for at in range(len(head) - _GRAM + 1)]
        return token if self._grams.isdisjoint(parts) else SHOWN

    def _masked(self, text: str) -> str:
        """Remove keys shown with a masked middle, together with the visible ends that identify them."""
        pieces: list[str] = []
        position = 0
        for mask in _MASK.finditer(text):
            before = _BEFORE.search(text, max(position, mask.start() - 40), mask.start())
            after = _AFTER.match(text, mask.end())
            head, tail = before[0] if before else "", after[0] if after else ""
            if self._gives_away(mask[0][0], head, tail):
                pieces += (text[position : mask.start() - len(head)], SHOWN)
                position = mask.end() + len(tail)
        return "".join([*pieces, text[position:]]) if pieces else text

    def _gives_away(self, masked_by: str, head: str, tail: str) -> bool:
        if masked_by in "*•●":
            return bool(head or tail)
        return any(
            (len(head) >= 3 and secret.startswith(head)) or (len(tail) >= 3 and secret.endswith(tail))
            for secret in self._known
        )


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret: plain, in URLs, JSON, HTML, hexadecimal, and inside the base64 of a longer text."""
    raw = secret.encode("utf-8", "surrogatepass")
    for written in (secret, quote(secret, safe=""), quote_plus(secret, safe=""), json.dumps(secret)[1:-1]):
        yield written
        yield written.lower()
    yield secret.upper()
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield html.escape(secret)
    yield repr(secret)[1:-1]
    yield raw.hex()
    yield raw.hex().upper()
    for offset, unsure in ((0, 0), (1, 2), (2, 3)):
        # The bytes before the secret change its first base64 characters, the bytes after it change the last.
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        core = encoded[unsure : len(encoded) - (1 if (offset + len(raw)) % 3 else 0)]
        if len(core) >= _GRAM:
            yield core
            yield core.replace("+", "-").replace("/", "_")
            yield quote(core, safe="")


def _telling(secret: str) -> Iterator[str]:
    """Yield the parts of a long secret that no ordinary word contains: those with both letters and digits."""
    if len(secret) < 2 * _GRAM:
        return
    for at in range(len(secret) - _GRAM + 1):
        gram = secret[at : at + _GRAM]
        if any(char.isdigit() for char in gram) and any(char.isalpha() for char in gram):
            yield gram


_secrets = Secrets()


def register(*values: str) -> None:
    """Register secrets of this process, so that none of its texts shows them."""
    _secrets.add(value for value in values if value)


def learn(environment: Mapping[str, str] | None = None) -> None:
    """Register the environment's secrets: variables named as keys or passwords, and passwords in addresses."""
    _secrets.add(found for name, value in (environment or os.environ).items() for found in _of(name.upper(), value))


def _of(name: str, value: str) -> Iterator[str]:
    if "://" in value and "@" in value:
        try:
            password = urlsplit(value).password
        except ValueError:
            password = None
        if password:
            yield password
            yield unquote(password)
    if name.startswith("OTEL_EXPORTER_OTLP") and name.endswith("HEADERS"):
        for pair in value.split(","):
            header = unquote(pair.partition("=")[2])
            yield header.rpartition(" ")[2]
    elif _SECRET_NAME.search(name) and not _NO_SECRET_NAME.search(name) and not _NUMBER.fullmatch(value):
        yield value
        user, colon, password = value.partition(":")  # a vector store's "user:password"
        if colon and user:
            yield password


def redact(text: str) -> str:
    """Return the text without this process's secrets and without text that has the form of one."""
    return _secrets.redact(text)


def redact_all(value: Any) -> Any:
    """Return a value of mappings, lists and texts in which every text, keys included, is redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact_all(key): redact_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(redact_all(item) for item in value)
    return value

"""Keys and passwords cut out of texts before anybody sees them: errors, logs, spans, health, answers.

What the process was given as a secret is known here by value, from its environment and from whoever reads a key, and is
found again in any of the forms that providers, proxies and libraries give it. What merely has the form of a secret goes
too. Everything here is linear in the text.
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
_GRAM = 8  # characters of a secret that give it away
_LONGEST_TOKEN = 4096
# Values that stand in many places that are no secret: a password like this cannot be kept out of anything.
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
# As providers show a key: "sk-ab***xyz", "sk-ab…xyz", "sk-abXXXXXXXX".
_MASK = re.compile(r"[*•●]{3,200}|\.{3,20}|…|[xX]{4,200}")
_BEFORE = re.compile(r"[\w+/=-]{1,40}\Z")
_AFTER = re.compile(r"[\w+/=-]{0,40}")
_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=.%]{8,}")


class Secrets:
    """The secrets of a process and the forms that they are looked for in."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._grams: frozenset[str] = frozenset()

    def add(self, values: Iterable[str]) -> None:
        """Learn secrets; what is too short to be told from ordinary words is left out."""
        fresh = {value.strip() for value in values} - self._known
        fresh = {value for value in fresh if len(value) >= _SHORTEST and value.lower() not in _WORDS}
        if not fresh:
            return
        self._known |= fresh
        forms = {form for secret in self._known for form in _forms(secret)}
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        self._grams = frozenset(gram for secret in self._known for gram in _telling(secret))

    def redact(self, text: str) -> str:
        """Return a text without secrets."""
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
        grams = self._grams
        return SHOWN if any(head[at : at + _GRAM] in grams for at in range(len(head) - _GRAM + 1)) else token

    def _masked(self, text: str) -> str:
        """Cut out a key that was shown with its middle masked, and with it the ends that give it away."""
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
    """Yield what a secret looks like: as it is, in URLs, JSON, HTML, hexadecimal, and inside base64 of more than it."""
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
        # What stands before it in the bytes decides about the first characters, what comes after about the last.
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        core = encoded[unsure : len(encoded) - (1 if (offset + len(raw)) % 3 else 0)]
        if len(core) >= _GRAM:
            yield core
            yield core.replace("+", "-").replace("/", "_")
            yield quote(core, safe="")


def _telling(secret: str) -> Iterator[str]:
    """Yield the runs of a long secret that no ordinary word holds: those with letters and digits."""
    if len(secret) < 2 * _GRAM:
        return
    for at in range(len(secret) - _GRAM + 1):
        gram = secret[at : at + _GRAM]
        if any(char.isdigit() for char in gram) and any(char.isalpha() for char in gram):
            yield gram


_secrets = Secrets()


def register(*values: str) -> None:
    """Make secrets known to this process, so that none of its texts shows them."""
    _secrets.add(value for value in values if value)


def learn(environment: Mapping[str, str] | None = None) -> None:
    """Make known what the environment holds: variables named as keys and passwords, and passwords in addresses."""
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
    """Return a text without the secrets of this process and without what has the form of one."""
    return _secrets.redact(text)


def redact_all(value: Any) -> Any:
    """Return a value of mappings, lists and texts with every text, keys included, cleaned."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact_all(key): redact_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(redact_all(item) for item in value)
    return value

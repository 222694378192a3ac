"""The reference model: what was acknowledged to callers, and what the audit may therefore find.

A call whose answer was lost may have taken effect, or may still: its effect stays possible besides what was
acknowledged. What was acknowledged, and cannot have changed since, is certain.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum

LETTERS = "bcdfghjklm"
"""Letters of a content's own word, one per digit; no language's stemmer takes them for an ending."""

Content = int | bytes
"""A number from which a content is generated, or the bytes of a file that an earlier release stored."""


class Presence(Enum):
    """Whether something exists."""

    THERE = "there"
    GONE = "gone"
    POSSIBLE = "possible"


def word(content: Content) -> str:
    """Return the word that only this content has; for bytes, their longest word."""
    if isinstance(content, bytes):
        return max(re.findall(r"[A-Za-z]+", content.decode()), key=len)
    return "wz" + "".join(LETTERS[int(digit)] for digit in f"{content:08d}") + "x"


def text(content: Content) -> bytes:
    """Return a content: 1 to 90 paragraphs, each with the content's own word and its number in it."""
    if isinstance(content, bytes):
        return content
    paragraphs = 1 + content * 7919 % 90
    own = word(content)
    facts = (f"Fact {number} of {own} is {number * 7} and is kept in the hall." for number in range(paragraphs))
    return (f"# Paper {own}\n\n" + "\n\n".join(facts)).encode()


def paragraphs(content: Content) -> list[str]:
    """Return the paragraphs of a content without its headings."""
    return [one for one in text(content).decode().splitlines() if one and not one.startswith("#")]


def sha256(content: Content) -> str:
    """Return the SHA-256 of a content, lower-case hexadecimal."""
    return hashlib.sha256(text(content)).hexdigest()


@dataclass(slots=True)
class Possible:
    """An acknowledged value, and those that a lost call may have set or may still set."""

    certain: object
    late: set[object] = field(default_factory=set)
    past: set[object] = field(default_factory=set)
    """Earlier certain values."""

    def acknowledged(self, value: object, lost: int) -> None:
        """Record an answer; after `lost` attempts, a late one may set the value once more."""
        self.past.add(self.certain)
        self.certain = value
        if lost:
            self.late.add(value)

    def maybe(self, value: object) -> None:
        """Record a call without an answer."""
        self.late.add(value)

    def undone(self) -> None:
        """Record that the last changes may have been lost with their commits."""
        self.late |= self.past

    def allows(self, value: object) -> bool:
        """Return whether the audit may find this value."""
        return value == self.certain or value in self.late


@dataclass(slots=True)
class Collection:
    """A collection."""

    name: str
    id: str
    description: Possible
    dimensions: Possible
    size: Possible
    grantee: Possible = field(default_factory=lambda: Possible(""))
    """The user with whom it is shared."""
    presence: Presence = Presence.THERE


@dataclass(slots=True)
class Document:
    """A document; without an id its upload was not acknowledged."""

    name: str
    collection: Collection
    content: Possible
    id: str = ""
    tag: Possible = field(default_factory=lambda: Possible(""))
    presence: Presence = Presence.THERE
    twin: bool = False
    """A second upload of its bytes was lost: after a deletion it may create another document."""

    @property
    def filename(self) -> str:
        """The name of its file."""
        return self.name if "." in self.name else f"{self.name}.md"


@dataclass(slots=True)
class Question:
    """A question of a conversation."""

    text: str
    question_id: str = ""
    answer_id: str = ""
    """Empty if there was no answer."""
    certain: bool = True
    """Whether its acknowledged parts cannot have been lost."""
    rating: Possible = field(default_factory=lambda: Possible(0))


@dataclass(slots=True)
class Conversation:
    """A conversation."""

    id: str
    title: Possible
    questions: list[Question] = field(default_factory=list)
    presence: Presence = Presence.THERE


@dataclass(slots=True)
class Key:
    """An API key; the secret is lost with the answer that had it."""

    id: str
    secret: str
    presence: Presence = Presence.THERE


@dataclass(slots=True)
class ReferenceModel:
    """Everything that was acknowledged to callers in all rounds of a deployment."""

    collections: list[Collection] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    rows: defaultdict[str, dict[str, Possible]] = field(default_factory=lambda: defaultdict(dict))
    """Texts of rows of own vectors, None for a deleted one, by collection and id."""
    alone: set[str] = field(default_factory=set)
    """Rows whose text is not that of the other rows of their call."""
    operations: dict[str, str] = field(default_factory=dict)
    """The purpose of each long-running operation, by its id."""
    interrupted: set[str] = field(default_factory=set)
    """Operations with a cancelled document, which may therefore report a failure."""
    loose_files: set[str] = field(default_factory=set)
    """Files that only lost commits referred to, or that only they stopped referring to."""
    lost_index_versions: set[str] = field(default_factory=set)
    """Index versions, as `collection:number`, that only lost commits added; their rows of own vectors stay."""
    lost_messages: set[str] = field(default_factory=set)
    """Messages that only lost commits added; their rows stay in memory, and no reader gets them."""
    problems: list[str] = field(default_factory=list)
    """Responses that no caller should have received."""
    journal: deque[str] = field(default_factory=lambda: deque(maxlen=60))
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, line: str) -> None:
        """Add a line to the journal."""
        self.journal.append(line)

    def problem(self, line: str) -> None:
        """Record a response that must not occur."""
        self.note(f"PROBLEM {line}")
        self.problems.append(line)

"""The model: what callers were told, and what follows from it for everything that the audit looks at.

A call whose answer was lost may have taken effect, or may yet: what it would have made stays possible beside what was
acknowledged. What was acknowledged and cannot have been changed since is certain.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum

LETTERS = "bcdfghjklm"
"""Of a content's own word, one a digit; no language's stemmer takes them for an ending."""

Content = int | bytes
"""A number that a content is made of, or the bytes of a file that an earlier release was given."""


class Presence(Enum):
    """Whether a thing is there."""

    THERE = "there"
    GONE = "gone"
    POSSIBLE = "possible"


def word(content: Content) -> str:
    """Return the word that stands in this content and in no other; of a file's bytes, its longest word."""
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
    """A value that was acknowledged, and those that a lost call may have set or may set yet."""

    certain: object
    late: set[object] = field(default_factory=set)
    past: set[object] = field(default_factory=set)
    """What was certain before."""

    def acknowledged(self, value: object, lost: int) -> None:
        """Note an answer; with attempts before it that were lost, what the last one set may come once more."""
        self.past.add(self.certain)
        self.certain = value
        if lost:
            self.late.add(value)

    def maybe(self, value: object) -> None:
        """Note a call without an answer."""
        self.late.add(value)

    def undone(self) -> None:
        """Note that the last changes may have been lost with the commits that made them."""
        self.late |= self.past

    def allows(self, value: object) -> bool:
        """Tell whether this may be found."""
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
    """A document; without an id nobody was told of it."""

    name: str
    collection: Collection
    content: Possible
    id: str = ""
    tag: Possible = field(default_factory=lambda: Possible(""))
    presence: Presence = Presence.THERE
    twin: bool = False
    """A second upload of its bytes was lost: after a deletion it may make another document."""

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
    """Empty when no answer came."""
    certain: bool = True
    """Whether what was acknowledged of it cannot have been lost."""
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
class World:
    """Everything that callers were told in all rounds of a deployment."""

    collections: list[Collection] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    rows: defaultdict[str, dict[str, Possible]] = field(default_factory=lambda: defaultdict(dict))
    """Texts of rows of own vectors, None for a deleted one, by collection and id."""
    alone: set[str] = field(default_factory=set)
    """Rows whose text is not that of the other rows of their call."""
    operations: dict[str, str] = field(default_factory=dict)
    """What each long operation was begun for, by its id."""
    interrupted: set[str] = field(default_factory=set)
    """Operations with a document whose processing was cancelled, which may say that it failed."""
    loose_files: set[str] = field(default_factory=set)
    """Files that only lost commits named, or that only they no longer named."""
    lost_index_versions: set[str] = field(default_factory=set)
    """Index versions, as `collection:number`, that only lost commits entered; rows of own vectors of them stay."""
    problems: list[str] = field(default_factory=list)
    """What no caller should have been told."""
    journal: deque[str] = field(default_factory=lambda: deque(maxlen=60))
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, line: str) -> None:
        """Add a line to the journal."""
        self.journal.append(line)

    def problem(self, line: str) -> None:
        """Note what must not be."""
        self.note(f"PROBLEM {line}")
        self.problems.append(line)

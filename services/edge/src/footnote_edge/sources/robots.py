"""robots.txt by RFC 9309: the longest matching rule counts, and between equals allowing wins.

Patterns are matched without backtracking, since they are untrusted.
"""

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from footnote_edge.sources.patterns import matches

MOST_BYTES = 512 * 1024
LONGEST_DELAY = 60.0
_MOST_RULES = 2000
_LONGEST_RULE = 1000
_VALUED = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
"""Parts of an X-Robots-Tag that have a value, and name no agent."""
_ESCAPED = re.compile(r"%[0-9a-fA-F]{2}")


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one site for one user agent."""

    rules: tuple[tuple[str, bool], ...] = ()
    """Path patterns, and whether they are allowed."""
    delay: float = 0.0
    """Seconds between two requests."""
    sitemaps: tuple[str, ...] = ()
    forbidden: bool = False
    """Everything is forbidden: the site answers the request for robots.txt with a server error."""

    def allows(self, path: str) -> bool:
        """Return whether a path, with its query, is allowed."""
        if self.forbidden:
            return False
        best, allowed = -1, True
        path = _escaped(path)
        for pattern, allow in self.rules:
            if len(pattern) > best or (len(pattern) == best and allow):
                exact = pattern.endswith("$")
                if matches(pattern[:-1] if exact else f"{pattern}*", path):
                    best, allowed = len(pattern), allow
        return allowed


NOTHING_SAID = Robots()
CLOSED = Robots(forbidden=True)


def read(text: str, agent: str) -> Robots:
    """Return the rules for a user agent: those of its own groups, else those for all."""
    name = agent.partition("/")[0].strip().lower()
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps = []
    current: list[str] = []
    begun = False
    for field, value in _lines(text.removeprefix("\ufeff")):
        if field == "sitemap":
            sitemaps.append(value)
        elif field == "user-agent":
            if begun:
                current, begun = [], False
            current.append(value.lower())
            groups.setdefault(value.lower(), [])
        elif field in ("allow", "disallow", "crawl-delay"):
            begun = True
            for one in current:
                groups[one].append((field, value))
    chosen = groups.get(name, groups.get("*", []))
    rules = [(_escaped(value), field == "allow") for field, value in chosen if field != "crawl-delay" and value]
    delays = [_seconds(value) for field, value in chosen if field == "crawl-delay"]
    return Robots(tuple(rules[:_MOST_RULES]), max(delays, default=0.0), tuple(sitemaps[:100]))


def forbids_indexing(header: str, agent: str) -> bool:
    """Return whether the lines of X-Robots-Tag ask a user agent, or all, not to index what comes with them."""
    name = agent.partition("/")[0].strip().lower()
    for line in header.lower().splitlines():
        spoken_to = ""
        for part in line.split(","):
            before, colon, word = part.rpartition(":")
            if colon and " " not in (called := before.strip()) and called not in _VALUED:
                spoken_to = called
            if word.strip() in ("noindex", "none") and spoken_to in ("", name):
                return True
    return False


def _escaped(path: str) -> str:
    """Return a path as rules are compared: what is beyond ASCII escaped, escapes in capitals."""
    return _ESCAPED.sub(lambda found: found[0].upper(), quote(path, safe=string.punctuation))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text[:MOST_BYTES].splitlines():
        field, colon, value = line.partition("#")[0].partition(":")
        if colon and len(value) <= _LONGEST_RULE:
            yield field.strip().lower(), value.strip()


def _seconds(text: str) -> float:
    try:
        return min(max(float(text), 0.0), LONGEST_DELAY)
    except ValueError:
        return 0.0

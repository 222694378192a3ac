"""How a chat model wants to be asked: what is known by its name, and what its refusals teach.

OpenAI-compatible services differ in the parameters they take, and so do the models of one service. A model is known by
the beginning of its name; what is not known here is asked in the common form, and a refusal that names what was wrong
(400, 422) changes the dialect. The table holds what the services' documentation says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
LEAVABLE = (
    "stream_options", "seed", "top_p", "frequency_penalty", "presence_penalty", "reasoning_effort", "response_format",
    "temperature", "stop",
)  # fmt: skip
"""Parameters that an answer can do without, the ones first that it misses least."""

_PREFERRED = {MAX_TOKENS: MAX_COMPLETION_TOKENS, MAX_COMPLETION_TOKENS: MAX_TOKENS}
_BOUNDS = re.compile(
    r"maximum context length (?:is|of) (\d{1,9})|at most (\d{1,9}) completion tokens"
    r"|> (\d{1,9}), which is the maximum allowed number of output"
)
_PROMPT = re.compile(r"(\d{1,9}) (?:in the messages|input tokens|tokens from the input)")
_LEAST = 16  # tokens of an answer that is worth asking for
_ADDED = 12  # tokens that a service counts besides the texts


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one model is asked.

    `limit` names the parameter that bounds an answer, `without` those left out; `thinks` tells that its thoughts count
    against the bound, `unmarked` that they may come without a mark of their beginning; `effort` is how much of it is
    asked for, "" for the model's own; `window` the tokens of prompt and answer together, `longest` those of an answer
    that may be asked for, 0 where it is not known; `scale` its tokens for one of a prompt that we count.
    """

    limit: str = MAX_TOKENS
    without: frozenset[str] = frozenset()
    thinks: bool = False
    unmarked: bool = False
    effort: str = ""
    window: int = 0
    longest: int = 0
    scale: float = 1.1

    def takes(self, name: str) -> bool:
        """Tell whether the model takes a parameter."""
        return name not in self.without

    def bound(self, wanted: int, prompt: int, room: int) -> int:
        """Return the tokens to ask for, for an answer of `wanted` after a prompt of so many by our count.

        `room` is added for thoughts where they count.
        """
        bound = wanted + (room if self.thinks else 0)
        if self.longest:
            bound = min(bound, self.longest)
        if self.window:
            bound = min(bound, max(_LEAST, self.window - int(prompt * self.scale) - _ADDED))
        return bound


@dataclass(frozen=True, slots=True)
class Family:
    """Models that are asked alike: their names begin with one of `names` after the last "/", and hold none of `but`."""

    names: tuple[str, ...]
    dialect: Dialect
    but: tuple[str, ...] = ()

    def has(self, model: str) -> bool:
        """Tell whether a model, its name in lower case, is one of them."""
        return model.startswith(self.names) and not any(word in model for word in self.but)


_NO_SAMPLING = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty", "stop"})
_REASONING = Dialect(MAX_COMPLETION_TOKENS, _NO_SAMPLING, thinks=True, effort="low")
FAMILIES = (
    Family(("gpt-5",), replace(_REASONING, window=400_000), but=("chat",)),
    Family(("o1", "o3", "o4", "codex-mini"), replace(_REASONING, window=200_000)),
    Family(("gpt-4.1",), Dialect(window=1_047_576)),
    Family(("gpt-4o", "gpt-4-turbo", "gpt-5", "chatgpt-4o"), Dialect(window=128_000)),
    Family(("claude",), Dialect(without=frozenset({"seed", "response_format"}), window=200_000)),
    Family(
        ("gemini-2.5", "gemini-3", "gemini-flash-latest", "gemini-pro-latest"),
        Dialect(without=frozenset({"seed"}), thinks=True, window=1_048_576),
    ),
    Family(("gemini",), Dialect(without=frozenset({"seed"}), window=1_048_576)),
    Family(
        ("mistral-", "ministral-", "magistral-", "codestral-", "open-mistral"),
        Dialect(without=frozenset({"seed", "stream_options"}), window=128_000),
        but=("instruct",),  # the open weights, behind servers of other people
    ),
    Family(("deepseek-reasoner",), Dialect(without=frozenset({"response_format", "seed"}), thinks=True, window=64_000)),
    Family(("deepseek-chat",), Dialect(without=frozenset({"response_format", "seed"}), window=64_000)),
    Family(("deepseek-r1", "qwq"), Dialect(thinks=True, unmarked=True)),
    Family(("qwen3", "gpt-oss", "glm-4.5", "glm-4.6"), Dialect(thinks=True), but=("instruct", "coder")),
)


def dialect_of(model: str, window: int = 0) -> Dialect:
    """Return what is known of a model by its name; `window` is what its service or operator says, 0 for nothing."""
    name = model.lower().rpartition("/")[2]
    known = next((family.dialect for family in FAMILIES if family.has(name)), Dialect())
    return replace(known, window=window) if window else known


def taught(dialect: Dialect, sent: Mapping[str, object], prompt: int, param: str, message: str) -> Dialect | None:
    """Return the dialect that a refusal teaches, None where it says nothing that helps.

    `sent` are the parameters of the request by name, `prompt` its tokens by our count, `param` the parameter that the
    service names, "" where it names none.
    """
    if dialect.limit in sent and (found := _BOUNDS.search(message)) is not None:
        return _bounded(dialect, sent[dialect.limit], prompt, message, found)
    named = _named(sent, param, message)
    if named in _PREFERRED:
        other = _PREFERRED[named]
        if other in dialect.without:
            return replace(dialect, limit="", without=dialect.without | {named})
        # Only models that think refuse the older name.
        thinks = dialect.thinks or named == MAX_TOKENS
        return replace(dialect, limit=other, without=dialect.without | {named}, thinks=thinks)
    if named:
        return replace(dialect, without=dialect.without | {named})
    return None


def _bounded(dialect: Dialect, asked: object, prompt: int, message: str, found: re.Match[str]) -> Dialect | None:
    """Return the dialect with the window or the longest answer that a refusal tells; None where that does not help."""
    if not isinstance(asked, int):
        return None
    window, longest = int(found[1] or 0), int(found[2] or found[3] or 0)
    if longest:
        return replace(dialect, longest=longest) if longest < asked else None
    told = _PROMPT.search(message)
    # Where it does not say how much the prompt takes, more than was thought.
    scale = int(told[1]) * 1.02 / max(1, prompt) if told is not None else dialect.scale * 1.5
    learned = replace(dialect, window=window, scale=scale)
    left = window - int(prompt * scale) - _ADDED
    return learned if _LEAST <= left < asked else None  # else a shorter answer would not help


def _named(sent: Mapping[str, object], param: str, message: str) -> str:
    if param in sent and (param in LEAVABLE or param in _PREFERRED):
        return param
    words = set(re.findall(r"\w{1,40}", message))
    return next((name for name in (*LEAVABLE, *_PREFERRED) if name in sent and name in words), "")

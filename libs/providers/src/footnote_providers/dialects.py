"""The request parameters of chat models: known by a model's name, or learnt from refusals.

OpenAI-compatible services differ in their parameters, and so do the models of one service. A model is recognised by
the beginning of its name. An unknown model gets the common form, and a refusal that names the problem (400, 422)
changes the dialect. The table follows the services' documentation.
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
"""Parameters that an answer can do without, the least important first."""

_PREFERRED = {MAX_TOKENS: MAX_COMPLETION_TOKENS, MAX_COMPLETION_TOKENS: MAX_TOKENS}
_BOUNDS = re.compile(
    r"maximum context length (?:is|of) (\d{1,9})|at most (\d{1,9}) completion tokens"
    r"|> (\d{1,9}), which is the maximum allowed number of output"
)
_PROMPT = re.compile(r"(\d{1,9}) (?:in the messages|input tokens|tokens from the input)")
_LEAST = 16  # tokens of the shortest answer worth a request
_ADDED = 12  # tokens that a service counts besides the texts


@dataclass(frozen=True, slots=True)
class Dialect:
    """The request form of one model.

    `limit` names the parameter that bounds an answer; `without` lists omitted parameters. `thinks` means that
    thoughts count against the bound, `unmarked` that they may lack an opening mark. `effort` is the requested
    reasoning effort, "" for the model's own. `window` is the context window in tokens, `longest` the most tokens of
    an answer; 0 when unknown. `scale` is the model's number of tokens for one token by our count.
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
        """Return whether the model accepts a parameter."""
        return name not in self.without

    def bound(self, wanted: int, prompt: int, room: int) -> int:
        """Return the token limit to request for an answer of `wanted` tokens.

        `prompt` is the size of the prompt in tokens by our count. `room` is added for thoughts where they count.
        """
        bound = wanted + (room if self.thinks else 0)
        if self.longest:
            bound = min(bound, self.longest)
        if self.window:
            bound = min(bound, max(_LEAST, self.window - int(prompt * self.scale) - _ADDED))
        return bound


@dataclass(frozen=True, slots=True)
class Family:
    """Models with the same dialect: after the last "/" their names begin with one of `names`.

    Names that contain one of `but` are excluded.
    """

    names: tuple[str, ...]
    dialect: Dialect
    but: tuple[str, ...] = ()

    def has(self, model: str) -> bool:
        """Return whether a model, given in lower case, belongs to the family."""
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
        but=("instruct",),  # the open weights, on other operators' servers
    ),
    Family(("deepseek-reasoner",), Dialect(without=frozenset({"response_format", "seed"}), thinks=True, window=64_000)),
    Family(("deepseek-chat",), Dialect(without=frozenset({"response_format", "seed"}), window=64_000)),
    Family(("deepseek-r1", "qwq"), Dialect(thinks=True, unmarked=True)),
    Family(("qwen3", "gpt-oss", "glm-4.5", "glm-4.6"), Dialect(thinks=True), but=("instruct", "coder")),
)


def dialect_of(model: str, window: int = 0) -> Dialect:
    """Return the known dialect of a model by its name; `window` is the configured context window, 0 for none."""
    name = model.lower().rpartition("/")[2]
    known = next((family.dialect for family in FAMILIES if family.has(name)), Dialect())
    return replace(known, window=window) if window else known


def taught(dialect: Dialect, sent: Mapping[str, object], prompt: int, param: str, message: str) -> Dialect | None:
    """Return the dialect learnt from a refusal; None when the refusal teaches nothing useful.

    `sent` are the request's parameters by name, `prompt` its tokens by our count. `param` is the parameter that the
    service names, "" for none.
    """
    if dialect.limit in sent and (found := _BOUNDS.search(message)) is not None:
        return _bounded(dialect, sent[dialect.limit], prompt, message, found)
    named = _named(sent, param, message)
    if named in _PREFERRED:
        other = _PREFERRED[named]
        if other in dialect.without:
            return replace(dialect, limit="", without=dialect.without | {named})
        # Only reasoning models refuse the older name.
        thinks = dialect.thinks or named == MAX_TOKENS
        return replace(dialect, limit=other, without=dialect.without | {named}, thinks=thinks)
    if named:
        return replace(dialect, without=dialect.without | {named})
    return None


def _bounded(dialect: Dialect, asked: object, prompt: int, message: str, found: re.Match[str]) -> Dialect | None:
    """Return the dialect with the window or longest answer stated in a refusal; None when that does not help."""
    if not isinstance(asked, int):
        return None
    window, longest = int(found[1] or 0), int(found[2] or found[3] or 0)
    if longest:
        return replace(dialect, longest=longest) if longest < asked else None
    reported = _PROMPT.search(message)
    # Without a stated size of the prompt, assume that it is larger than estimated.
    scale = int(reported[1]) * 1.02 / max(1, prompt) if reported is not None else dialect.scale * 1.5
    learned = replace(dialect, window=window, scale=scale)
    left = window - int(prompt * scale) - _ADDED
    return learned if _LEAST <= left < asked else None  # otherwise a shorter answer would not help


def _named(sent: Mapping[str, object], param: str, message: str) -> str:
    if param in sent and (param in LEAVABLE or param in _PREFERRED):
        return param
    words = set(re.findall(r"\w{1,40}", message))
    return next((name for name in (*LEAVABLE, *_PREFERRED) if name in sent and name in words), "")

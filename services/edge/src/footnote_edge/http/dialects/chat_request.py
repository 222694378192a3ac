"""Converts an OpenAI chat request: `model` names the collection, the last user message is the question."""

from dataclasses import dataclass
from typing import Any

from footnote.edge.v1 import answers_pb2 as pb
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER, ChatMessage
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_kit.errors import InvalidArgument

EVERYTHING = "footnote"
"""The model that stands for all collections visible to the caller."""

_HONOURED = frozenset({
    "model", "messages", "stream", "stream_options", "temperature", "top_p", "frequency_penalty", "presence_penalty",
    "max_tokens", "max_completion_tokens", "seed", "stop",
})  # fmt: skip
_ABOUT_THE_CALLER = frozenset({
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
    "parallel_tool_calls",
})  # fmt: skip
"""Parameters that do not affect answers."""
_IDLE: dict[str, tuple[Any, ...]] = {
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "reasoning_effort": (),
    "verbosity": (),
    "web_search_options": (),
}
"""OpenAI parameters that have no effect here, with their neutral values."""
_ROLES = {"user": MESSAGE_ROLE_USER, "assistant": MESSAGE_ROLE_ASSISTANT}
_INSTRUCTIONS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The question, and the form of its answer."""

    ask: pb.AskRequest
    model: str
    stream: bool
    include_usage: bool


def parse(body: Any) -> ChatRequest:
    """Return the question in a chat request; raises InvalidArgument if there is none."""
    if not isinstance(body, dict):
        raise InvalidArgument("The body must be a JSON object")
    model = _text(body, "model") or EVERYTHING
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidArgument.field("messages", "must be a list that is not empty")
    _refuse_what_has_no_effect(body)
    instructions, spoken = _split(messages)
    if not spoken or spoken[-1].role != MESSAGE_ROLE_USER:
        raise InvalidArgument.field("messages", "must end with a message of the user")
    options = body.get("stream_options")
    ask = pb.AskRequest(
        question=spoken[-1].text,
        collections=[] if model == EVERYTHING else [model],
        history=spoken[:-1],
        generation=_generation(body),
        include=[pb.ANSWER_PART_SOURCES],
    )
    ask.instructions = "\n\n".join(instructions)
    return ChatRequest(
        ask=ask,
        model=model,
        stream=body.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def _refuse_what_has_no_effect(body: dict[str, Any]) -> None:
    """Raise InvalidArgument for a parameter without effect here, unless its value is neutral."""
    for name, value in body.items():
        if name in _HONOURED or name in _ABOUT_THE_CALLER or value is None:
            continue
        if name not in _IDLE:
            raise InvalidArgument.field(name, "is not supported; leave it out")
        if value not in _IDLE[name]:
            raise InvalidArgument.field(name, "is not supported: answers are texts with footnotes; leave it out")


def _split(messages: list[Any]) -> tuple[list[str], list[ChatMessage]]:
    instructions: list[str] = []
    spoken: list[ChatMessage] = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise InvalidArgument.field(f"messages[{index}]", "must be an object")
        role, text = str(message.get("role")), _content(message.get("content"), index)
        if role in _INSTRUCTIONS:
            instructions.append(text)
        elif role in _ROLES:
            spoken.append(ChatMessage(role=_ROLES[role], text=text))
        else:
            raise InvalidArgument.field(f"messages[{index}].role", "must be system, developer, user or assistant")
    return instructions, spoken


def _content(content: Any, index: int) -> str:
    """Return a message's text: a string, or a list of text parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "\n".join(str(text) for text in texts)
    raise InvalidArgument.field(f"messages[{index}].content", "must be text")


def _generation(body: dict[str, Any]) -> GenerationSettings:
    settings = GenerationSettings()
    temperature = _number(body, "temperature", 0, 2)
    if temperature is not None:
        settings.temperature = temperature
    longest = _number(body, "max_completion_tokens", 1, 2**31 - 1) or _number(body, "max_tokens", 1, 2**31 - 1)
    if longest is not None:
        settings.max_tokens = int(longest)
    for name, least, most in (("top_p", 0, 1), ("frequency_penalty", -2, 2), ("presence_penalty", -2, 2)):
        value = _number(body, name, least, most)
        if value is not None:
            setattr(settings, name, value)
    seed = _number(body, "seed", -(2**63), 2**63 - 1)
    if seed is not None:
        settings.seed = int(seed)
    stop = body.get("stop")
    stops = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise InvalidArgument.field("stop", "must be a string or a list of strings")
    if stop is not None:
        settings.stop.SetInParent()
        settings.stop.values.extend(stops)
    return settings


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidArgument.field(name, "must be a string")
    return value or ""


def _number(body: dict[str, Any], name: str, least: float, most: float) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidArgument.field(name, f"must be a number between {least:g} and {most:g}")
    return value

"""A chat server that holds requests against the rules of the model they name, as strictly as the services do.

The rules were written down from what the services' documentation and their own error messages say, before the client
that has to get along with them:

- `gpt-4o`, `gpt-4.1` (OpenAI, chat): both ways to bound an answer, but not both at once; no `reasoning_effort`.
- `gpt-5`, `o3`, `o4-mini` (OpenAI, reasoning): `max_tokens` is refused for `max_completion_tokens`, `temperature` other
  than 1, `top_p`, the penalties and `stop` are refused; what it thinks counts against the bound, so that a small one
  leaves no words.
- `claude` (Anthropic's compatible address): `temperature` beside `top_p` is refused by newer models, a message without
  text is refused, stops of white space are refused; `seed` and `response_format` are ignored.
- `gemini` (Google's compatible address): unknown names are refused, and the error comes in a list.
- `mistral` (Mistral's own address): a further field is refused with 422 and a list of details; roles must alternate.
- `deepseek-reasoner` (DeepSeek): no `json_schema`; roles must alternate; it thinks in `reasoning_content`.
- `qwen3` (vLLM without a parser for thinking): thinks between `<think>` marks, in its words; prompt and answer together
  must fit its window; roles must alternate after the system message.
- `llama3.2` (Ollama): takes everything.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from support.doubles.model_chat import Fail, Finish, Say, Step, Think

Body = Mapping[str, Any]
Rule = Callable[[Body], Fail | None]
WINDOW = 4096
"""Tokens that the model behind vLLM reads and writes, by the rough count of `tokens`."""
THINKING = 600
"""Tokens that a reasoning model of OpenAI thinks before its first word."""
THOUGHT = "The user wants the days of leave. Interns get 10 days, so perhaps 99 days [2]. "


def tokens(body: Body) -> int:
    """Return the tokens of a prompt, by four characters each."""
    return sum(len(message["content"]) for message in body["messages"]) // 4


def refused(message: str, param: str = "", code: str = "") -> Fail:
    """OpenAI's form of a refusal."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": param or None, "code": code}}
    return Fail(400, body=body)


def unsupported(param: str, instead: str = "") -> Fail:
    more = f" Use '{instead}' instead." if instead else ""
    return refused(
        f"Unsupported parameter: '{param}' is not supported with this model.{more}", param, "unsupported_parameter"
    )


def openai_chat(body: Body) -> Fail | None:
    if "max_tokens" in body and "max_completion_tokens" in body:
        return refused("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if "reasoning_effort" in body:
        return refused("Unrecognized request argument supplied: reasoning_effort")
    return None


def openai_reasoning(body: Body) -> Fail | None:
    if "max_tokens" in body:
        return unsupported("max_tokens", "max_completion_tokens")
    if body.get("temperature", 1) != 1:
        return refused(
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. "
            "Only the default (1) value is supported.",
            "temperature",
            "unsupported_value",
        )
    for name in ("top_p", "presence_penalty", "frequency_penalty", "stop"):
        if name in body:
            return unsupported(name)
    if body.get("reasoning_effort", "low") not in ("low", "medium", "high"):
        return refused(
            f"Unsupported value: 'reasoning_effort' does not support '{body['reasoning_effort']}'.",
            "reasoning_effort",
            "unsupported_value",
        )
    return None


def anthropic(body: Body) -> Fail | None:
    if "temperature" in body and "top_p" in body:
        return refused("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    if any(not message["content"].strip() for message in body["messages"]):
        return refused("messages: text content blocks must be non-empty")
    if any(not stop.strip() for stop in body.get("stop", [])):
        return refused("stop_sequences: each stop sequence must contain non-whitespace")
    return None


_OF_GEMINI = {
    "model", "messages", "stream", "stream_options", "temperature", "top_p", "max_tokens", "max_completion_tokens",
    "stop", "n", "response_format", "reasoning_effort", "tools", "tool_choice",
}  # fmt: skip


def gemini(body: Body) -> Fail | None:
    for name in body:
        if name not in _OF_GEMINI:
            what = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            return Fail(400, body=[{"error": {"code": 400, "message": what, "status": "INVALID_ARGUMENT"}}])
    return None


_OF_MISTRAL = {
    "model", "messages", "stream", "temperature", "top_p", "max_tokens", "stop", "random_seed", "n", "response_format",
    "presence_penalty", "frequency_penalty", "tools", "tool_choice", "safe_prompt",
}  # fmt: skip


def mistral(body: Body) -> Fail | None:
    extra = [name for name in body if name not in _OF_MISTRAL]
    if extra:
        detail = [
            {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}
            for name in extra
        ]
        return Fail(422, body={"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"})
    return alternating(body)


def alternating(body: Body) -> Fail | None:
    """The chat templates of many open models."""
    spoken = [message["role"] for message in body["messages"] if message["role"] != "system"]
    if any(role != ("user", "assistant")[index % 2] for index, role in enumerate(spoken)):
        what = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
        return Fail(400, body={"object": "error", "message": what, "type": "BadRequestError", "code": 400})
    return None


def deepseek(body: Body) -> Fail | None:
    if body.get("response_format", {}).get("type") == "json_schema":
        return refused("This response_format type is unavailable now")
    return alternating(body)


def vllm(body: Body) -> Fail | None:
    bound = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    prompt = tokens(body)
    if prompt + bound > WINDOW:
        what = (
            f"This model's maximum context length is {WINDOW} tokens. However, you requested {prompt + bound} tokens "
            f"({prompt} in the messages, {bound} in the completion). Please reduce the length of the messages or "
            "completion."
        )
        return Fail(400, body={"object": "error", "message": what, "type": "BadRequestError", "code": 400})
    return alternating(body)


def everything(body: Body) -> Fail | None:
    return None


FAMILIES: dict[str, Rule] = {
    "gpt-4o-mini": openai_chat,
    "gpt-5-mini": openai_reasoning,
    "o4-mini": openai_reasoning,
    "claude-sonnet-4-5": anthropic,
    "gemini-2.5-flash": gemini,
    "mistral-large-latest": mistral,
    "deepseek-reasoner": deepseek,
    "qwen3-8b": vllm,
    "llama3.2": everything,
}


class Families:
    """The server's answers: the refusal of the model's rules, or `words` as this model says them."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.refusals: list[tuple[str, str]] = []
        """Model and messages of each request."""

    def __call__(self, body: dict[str, Any]) -> Sequence[Step]:
        """Return the script for a request; an unknown model's name is judged by the one that `as:` names."""
        model = str(body["model"]).partition("as:")[2] or str(body["model"])
        rule = FAMILIES[model]
        refusal = rule(body)
        if refusal is not None:
            self.refusals.append((model, str(refusal.body)))
            return [refusal]
        if rule is openai_reasoning:
            bound = body.get("max_completion_tokens", 10**6)
            return [Finish("length")] if bound <= THINKING else [Say([self.words]), Finish()]
        if rule is deepseek:
            return [Think([THOUGHT, "So 25 days."]), Say([self.words]), Finish()]
        if rule is vllm:
            return [Say(["<thi", "nk>", THOUGHT, "</th", "ink>\n\n", self.words]), Finish()]
        return [Say([self.words]), Finish()]

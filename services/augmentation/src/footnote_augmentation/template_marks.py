"""Control tokens of chat templates, by their form: a model may take them for a turn, a tool call or a thought.

A tokenizer recognises such a token only in full, so `a <| b`, `[|1; 2|]` and `List<String>` do not count. HTML tag
names do not count either, except `s`. The forms come from templates of Llama, Mistral, Gemma, Qwen, DeepSeek, Phi,
Command R, GLM, Granite, EXAONE, MiniMax, Hunyuan, Kimi, Nemotron, Ling, MiniCPM, SmolVLM, GigaChat, Seed and gpt-oss.
Those of Alpaca, Vicuna and OpenChat are plain words.
"""

from __future__ import annotations

import re

_NAMES = "|".join(
    (
        r"(?:start|end|begin|beginning|bo|eo)_?of_?\w{1,32}",  # <start_of_turn>, <end_of_utterance>, <endoftext>
        r"(?:start|end)_(?:function|tool|header|turn|think)\w{0,32}",
        r"(?-i:[A-Z_]{2,32}_TOKEN)",  # not <access_token>
        r"tools|tool_\w{1,32}|function_\w{1,32}|(?:function|parameter)(?==)",  # <tool_call>, <function=name>
        r"think(?:ing)?|thought|reasoning|reflection|scratch_?pad|inner_monologue",
        r"[be]os|[se]op|eo[dhatm]|bom|unk|pad|cls|sep",
        r"(?:extra_id|extra|special|reserved|unused|tokens_unused|placeholder|mask)[_:]?\d{1,6}",
        r"fim_\w{1,32}|arg_(?:key|value)",
        r"role|ai|bot|human|用户",
    )
)
ANGLED = re.compile(
    r"<\|[^\s<>|]{1,64}\|?>|<[^\s<>|]{1,64}\|>"  # <|im_start|>, <|turn>, <turn|>; DeepSeek's bars read like these
    rf"|</?(?:[a-z]{{2,16}}:)?(?:{_NAMES})(?:=[^<>\n]{{0,80}})?\s?/?>",
    re.IGNORECASE,
)
"""Marks in angle brackets."""
SQUARED = re.compile(
    r"\[\|(?:system|user|assistant|tool|human|bot|end\w{0,16}|start\w{0,16})\|\]"  # EXAONE
    r"|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]{1,16}|THINK|CALL_ID|MODEL_SETTINGS|IMG(?:_[A-Z]{1,8})?"
    r"|BEGIN_AUDIO|[gs]MASK|SEP|PAD\d{1,8}|control_\d{1,4})\]"  # Mistral, GLM, Yandex
    r"|\]~!?[a-z][\[\]]|\[[a-z]~\[|\]![a-z]~\[|\]<\][a-z ]{1,24}\[>\["  # MiniMax
)
"""Marks in square brackets, as the tokenizers write them."""
SPEAKER = re.compile(r"\b(?:USER|ASSISTANT|SYSTEM|HUMAN)[ \t]?:|\bGPT4 Correct (?:User|Assistant):")
"""Speaker labels that Vicuna and OpenChat put in the middle of a line."""


def found(text: str) -> bool:
    """Return whether a text has a control token in brackets."""
    return ("<" in text and bool(ANGLED.search(text))) or ("[" in text and bool(SQUARED.search(text)))

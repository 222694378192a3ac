"""Neutralises source text: it must not close its delimiter, pose as another role or forge a citation.

Each replacement maps one character to one character; only invisible characters are removed. A map of offsets keeps the
places inside a passage (its anchors) correct.

Control tokens of chat templates are recognised by their form: a model may take them for a turn, a tool call or a
thought. A tokenizer recognises such a token only in full, so `a <| b`, `[|1; 2|]` and `List<String>` do not count. HTML
tag names do not count either, except `s`. The forms come from templates of Llama, Mistral, Gemma, Qwen, DeepSeek, Phi,
Command R, GLM, Granite, EXAONE, MiniMax, Hunyuan, Kimi, Nemotron, Ling, MiniCPM, SmolVLM, GigaChat, Seed and gpt-oss.
Those of Alpaca, Vicuna and OpenChat are plain words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from footnote.types.v1.locator_pb2 import Anchor

from footnote_augmentation.confusables import read

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


_JOINERS = frozenset("\u200c\u200d")  # required between letters of Arabic and Indic scripts and inside emoji
_ROLE = re.compile(
    r"(?im)^[ \t>#*\-_|~]*(?:system|assistant|user|human|developer|tool|ai|systeme|utilisateur|developpeur|chatbot|bot|"
    r"new instructions?|nouvelles? instructions?|nouvelles? consignes?)[ \t*_|~]*:"
)
_CITATION = re.compile(r"(?i)\[(?=\s*(?:sources?\b|\d))[^\[\]\n]{0,120}\]|\[(?=\s*sources?\s*\d)")
_LABEL = re.compile(r"(?i)\[(?=\s*sources?\b)[^\[\]\n]{0,120}\]|\[(?=\s*sources?\s*\d)")
_ANGLES = re.compile(
    r"<{2,}|>{2,}|</?(?:s|system|user|assistant|human|sources?|context|instructions?)\b[^<>\n]{0,80}>", re.I
)
_INST = re.compile(r"(?i)\[\s{0,8}/?(?:inst|sys|system|user|assistant)\b[^\[\]\n]{0,40}\]")
_FENCE_ROLE = re.compile(r"(?im)^(?P<hashes>#{2,})(?=[ \t]*(?:system|instruction|assistant|user|human|response)\b)")
_TO_ANGLE = {"<": "‹", ">": "›"}
_TO_ROUND = {"[": "(", "]": ")"}
_BRACKETS = {**_TO_ANGLE, **_TO_ROUND}
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Neutral:
    """Neutralised text; `kept` holds the original offset of each character, None when nothing moved."""

    text: str
    kept: tuple[int, ...] | None

    def anchors(self, anchors: Iterable[Anchor]) -> list[Anchor]:
        """Return the anchors with their spans moved to this text."""
        if self.kept is None:
            return list(anchors)
        moved: list[Anchor] = []
        for anchor in anchors:
            copy = Anchor()
            copy.CopyFrom(anchor)
            copy.span.start = bisect_left(self.kept, anchor.span.start)
            copy.span.end = bisect_left(self.kept, anchor.span.end)
            if copy.span.end > copy.span.start:
                moved.append(copy)
        return moved


# Invisible characters that hide or reorder text: controls, soft hyphens, fillers, bidirectional controls, zero-width
# ones, variation tags, private use.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ue000-\uf8ff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


def is_invisible(text: str, index: int) -> bool:
    """Return whether the character at an index is invisible, and not a joiner that its script needs."""
    char = text[index]
    if not INVISIBLE.match(char):
        return False
    if char in _JOINERS and 0 < index < len(text) - 1:
        return ord(text[index - 1]) < 0x600 or ord(text[index + 1]) < 0x600
    return True


def neutralise(text: str, markers: bool = True) -> Neutral:
    """Return source text as the model may see it. Lookalikes of the prompt's marks count as marks, in any script.

    Without `markers`, footnotes such as "[2]" stay, as in an earlier answer; source labels are removed anyway.
    """
    normal = text.replace("\r\n", " \n")
    for mark in "\r\x85\u2028\u2029":
        normal = normal.replace(mark, "\n")
    kept: tuple[int, ...] | None = None
    if INVISIBLE.search(normal):
        offsets = tuple(index for index in range(len(normal)) if not is_invisible(normal, index))
        if len(offsets) != len(normal):
            kept = offsets
            normal = "".join(normal[index] for index in offsets)
    for _ in range(_ROUNDS):
        changed = _disarm(normal, _CITATION if markers else _LABEL)
        if changed == normal:
            break
        normal = changed
    return Neutral(normal, kept)


def _disarm(text: str, citation: re.Pattern[str]) -> str:
    """Replace each character that forms a mark in the text's reading by a harmless one."""
    reading = read(text)
    plain = reading.text
    changes: dict[int, str] = {}

    def change(match: re.Match[str], table: Mapping[str, str]) -> None:
        for index in range(match.start(), match.end()):
            if plain[index] in table:
                changes[reading.source(index)] = table[plain[index]]

    for match in citation.finditer(plain):
        # A bare number is a citation only in these brackets: 〔2023〕 numbers a decree.
        if text[reading.source(match.start())] in "[［【" or not match.group()[1:].lstrip()[:1].isdigit():
            change(match, _TO_ROUND)
    for match in _INST.finditer(plain):
        change(match, _TO_ROUND)
    for match in SQUARED.finditer(plain):
        change(match, _BRACKETS)
    for pattern in (_ANGLES, ANGLED):
        for match in pattern.finditer(plain):
            change(match, _TO_ANGLE)
    for pattern in (_ROLE, SPEAKER):
        for match in pattern.finditer(plain):
            changes[reading.source(match.end() - 1)] = "∶"
    for match in _FENCE_ROLE.finditer(plain):
        for index in range(match.start("hashes"), match.end("hashes")):
            changes[reading.source(index)] = "♯"
    if not changes:
        return text
    chars = list(text)
    for index, char in changes.items():
        chars[index] = char
    return "".join(chars)


def one_line(text: str) -> str:
    """Return a file name or label neutralised and on one line, without brackets that look like ours."""
    flat = " ".join(neutralise(text).text.split())
    if flat.isascii():
        return flat.translate(_FLAT)
    return "".join(_BRACKETS.get(read(char).text[:1], char) for char in flat)


_FLAT = str.maketrans(_BRACKETS)

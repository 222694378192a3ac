"""Putting a prompt together: rules, sources in delimiters nobody can guess, history, and the one question."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import (
    MESSAGE_ROLE_SYSTEM,
    MESSAGE_ROLE_USER,
    ChatMessage,
    Prompt,
)

from footnote_augmentation.neutralise import neutralise
from footnote_augmentation.templates import Template

# Digits, since every vocabulary counts the same number of tokens for any 24 of them: the plan stays the same from one
# request to the next although the delimiter never is. 24 digits are 80 bits.
_NONCE_DIGITS = 24
PLACEHOLDER = "0" * _NONCE_DIGITS


@dataclass(frozen=True, slots=True)
class Parts:
    """What goes into a prompt; `block` is the rendered sources, empty when there are none."""

    question: str
    block: str
    history: Sequence[ChatMessage]
    memory: str
    system_prompt: str
    without_sources: bool


def make_nonce() -> str:
    """Return a number for one request's delimiters, unknown to whoever wrote the documents."""
    return str(secrets.randbelow(10**_NONCE_DIGITS)).zfill(_NONCE_DIGITS)


def render_source(template: Template, number: int, label: str, text: str) -> str:
    """One source as it stands in the block: its label with the number, its text, an empty line."""
    return f"{template.source.format(number=number, label=label)}\n{template.content}{text}\n\n"


def open_block(template: Template, nonce: str) -> str:
    """Return the line before the sources."""
    return f"<<<SOURCES {nonce}>>>"


def close_block(template: Template, nonce: str) -> str:
    """Return the line after the sources."""
    return f"<<<END SOURCES {nonce}>>>"


_SPEAKER = re.compile(r"(?m)^\[(?:user|assistant)\] ")


def _memory_block(template: Template, memory: str, nonce: str) -> str:
    """Return past messages as data; the speakers in square brackets are ours and stay."""
    speakers = [match.group() for match in _SPEAKER.finditer(memory)]
    parts = [neutralise(part).text for part in _SPEAKER.split(memory)]
    text = parts[0] + "".join(speaker + part for speaker, part in zip(speakers, parts[1:], strict=True))
    return f"{template.memory}\n<<<MEMORY {nonce}>>>\n{text.strip()}\n<<<END MEMORY {nonce}>>>"


def messages(template: Template, parts: Parts, nonce: str) -> list[ChatMessage]:
    """Return the messages: one system message, the history, and the question as the only and last new user message."""
    sections: list[str] = []
    if parts.system_prompt.strip():
        sections.append(parts.system_prompt.strip())
    if parts.without_sources:
        sections.append(template.conversation)
    elif parts.block:
        marks = {"open": open_block(template, nonce), "close": close_block(template, nonce)}
        rules = [
            *template.rules,
            template.data_rule.format(**marks),
            template.not_found_rule.format(not_found=template.not_found),
        ]
        sections.append("\n".join(f"- {rule}" for rule in rules))
    else:
        # A's wording: no context at all, only the word that there is none.
        rules = [
            *template.rules[:3],
            template.no_sources,
            template.no_sources_reply.format(not_found=template.not_found),
        ]
        sections.append("\n".join(f"- {rule}" for rule in rules))
    if parts.memory.strip():
        sections.append(_memory_block(template, parts.memory, nonce))
    if parts.block and not parts.without_sources:
        sections.append(
            f"{template.intro}\n\n{open_block(template, nonce)}\n{parts.block.rstrip()}\n{close_block(template, nonce)}"
        )
    return [
        ChatMessage(role=MESSAGE_ROLE_SYSTEM, text="\n\n".join(sections)),
        *parts.history,
        ChatMessage(role=MESSAGE_ROLE_USER, text=parts.question),
    ]


def prompt_hash(items: Sequence[ChatMessage]) -> str:
    """SHA-256 over roles and texts, each length-prefixed so that no two prompts share one."""
    digest = hashlib.sha256()
    for item in items:
        data = item.text.encode("utf-8", "surrogatepass")
        digest.update(f"{item.role}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def assemble(template: Template, parts: Parts) -> tuple[Prompt, list[ChatMessage]]:
    """Return the prompt, and its messages with a placeholder for the delimiter number.

    The hash is of the latter: the same question over the same sources has the same hash, whatever delimiter it got.
    """
    plain = messages(template, parts, PLACEHOLDER)
    real = messages(template, parts, make_nonce())
    return Prompt(messages=real, locale=template.locale, template_version=template.id, hash=prompt_hash(plain)), plain

"""Assembles a prompt: rules, sources in unguessable delimiters, history, and the question."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER, ChatMessage
from footnote_text.locales import Locale

from footnote_augmentation.neutralise import neutralise

# Digits, because every vocabulary counts the same tokens for any 24 of them: the plan stays the same between requests
# although the delimiter changes. 24 digits are 80 bits.
_NONCE_DIGITS = 24
PLACEHOLDER = "0" * _NONCE_DIGITS


@dataclass(frozen=True, slots=True)
class Parts:
    """The contents of a prompt; `block` is the rendered sources, empty when there are none."""

    question: str
    block: str
    history: Sequence[ChatMessage]
    memory: str
    system_prompt: str
    without_sources: bool
    instructions: str = ""
    documents_unavailable: bool = False


def make_nonce() -> str:
    """Return a number for one request's delimiters, unknown to the documents' authors."""
    return str(secrets.randbelow(10**_NONCE_DIGITS)).zfill(_NONCE_DIGITS)


def render_source(locale: Locale, number: int, label: str, text: str) -> str:
    """Return one source as it appears in the block: its label with the number, its text, an empty line."""
    return f"{locale.prompt.source.format(number=number, label=label)}\n{locale.prompt.content}{text}\n\n"


def open_block(nonce: str) -> str:
    """Return the line before the sources."""
    return f"<<<SOURCES {nonce}>>>"


def close_block(nonce: str) -> str:
    """Return the line after the sources."""
    return f"<<<END SOURCES {nonce}>>>"


_SPEAKER = re.compile(r"(?m)^\[(?:user|assistant)\] ")


def _memory_block(locale: Locale, memory: str, nonce: str) -> str:
    """Return past messages as data; the speakers in square brackets are ours and stay."""
    speakers = [match.group() for match in _SPEAKER.finditer(memory)]
    parts = [neutralise(part).text for part in _SPEAKER.split(memory)]
    text = parts[0] + "".join(speaker + part for speaker, part in zip(speakers, parts[1:], strict=True))
    return f"{locale.prompt.memory}\n<<<MEMORY {nonce}>>>\n{text.strip()}\n<<<END MEMORY {nonce}>>>"


def messages(locale: Locale, parts: Parts, nonce: str) -> list[ChatMessage]:
    """Return the messages: one system message, the history, and the question as the last user message."""
    sections: list[str] = []
    if parts.system_prompt.strip():
        sections.append(parts.system_prompt.strip())
    if parts.instructions.strip():
        sections.append(parts.instructions.strip())
    if parts.documents_unavailable:
        sections.append(locale.prompt.unavailable)
    elif parts.without_sources:
        sections.append(locale.prompt.conversation)
    elif parts.block:
        marks = {"open": open_block(nonce), "close": close_block(nonce)}
        rules = [
            *locale.prompt.rules,
            locale.prompt.data_rule.format(**marks),
            locale.prompt.not_found_rule.format(not_found=locale.not_found),
        ]
        sections.append("\n".join(f"- {rule}" for rule in rules))
    else:
        # Without context the prompt only says that there is none.
        rules = [
            *locale.prompt.rules[:3],
            locale.prompt.no_sources,
            locale.prompt.no_sources_reply.format(not_found=locale.not_found),
        ]
        sections.append("\n".join(f"- {rule}" for rule in rules))
    # Earlier messages cannot replace documents that are unavailable.
    if parts.memory.strip() and not parts.documents_unavailable:
        sections.append(_memory_block(locale, parts.memory, nonce))
    if parts.block and not (parts.without_sources or parts.documents_unavailable):
        sections.append(f"{locale.prompt.intro}\n\n{open_block(nonce)}\n{parts.block.rstrip()}\n{close_block(nonce)}")
    return [
        ChatMessage(role=MESSAGE_ROLE_SYSTEM, text="\n\n".join(sections)),
        *parts.history,
        ChatMessage(role=MESSAGE_ROLE_USER, text=parts.question),
    ]


def prompt_hash(items: Sequence[ChatMessage]) -> str:
    """Return the SHA-256 over roles and texts, each length-prefixed so that no two prompts share one."""
    digest = hashlib.sha256()
    for item in items:
        data = item.text.encode("utf-8", "surrogatepass")
        digest.update(f"{item.role}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def assemble(locale: Locale, parts: Parts) -> tuple[Prompt, list[ChatMessage]]:
    """Return the prompt, and its messages with a placeholder for the delimiter number.

    The hash is of the latter: the same question over the same sources has the same hash, whatever its delimiter.
    """
    plain = messages(locale, parts, PLACEHOLDER)
    real = messages(locale, parts, make_nonce())
    return Prompt(messages=real, locale=locale.code, template_version=locale.template, hash=prompt_hash(plain)), plain

"""The most recent earlier messages, as they go into a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER, ChatMessage

from footnote_augmentation.neutralise import neutralise

MAX_MESSAGES = 8
MAX_CHARACTERS = 4000


def recent(
    history: Sequence[ChatMessage],
    messages: int = MAX_MESSAGES,
    characters: int = MAX_CHARACTERS,
    unanswered: str = "…",
) -> list[ChatMessage]:
    """Return the most recent messages, oldest first, within limits on their number and on total characters.

    Only the user's and the assistant's messages count: a system message in the history could bypass the rules. A
    message that does not fit is left out with all before it; the newest one is cut instead. The roles alternate, from
    the user to the assistant: a question without an answer is followed by `unanswered`.
    """
    spoken = [
        item for item in history if item.role in {MESSAGE_ROLE_USER, MESSAGE_ROLE_ASSISTANT} and item.text.strip()
    ]
    kept: list[ChatMessage] = []
    left = characters
    for item in reversed(spoken[-messages:] if messages > 0 else []):
        # Messages may quote documents, so forged marks in them are neutralised here too.
        text = neutralise(item.text, markers=False).text
        if len(text) > left:
            if not kept and left > 1:
                kept.append(ChatMessage(role=item.role, text=text[: left - 1] + "…"))
            break
        kept.append(ChatMessage(role=item.role, text=text))
        left -= len(text)
    kept.reverse()
    return _in_turns(kept, unanswered)


def _in_turns(kept: Sequence[ChatMessage], unanswered: str) -> list[ChatMessage]:
    turns: list[ChatMessage] = []
    for item in kept:
        asks = item.role == MESSAGE_ROLE_USER
        if not turns and not asks:
            continue  # the answer to a question that is outside the window
        if turns and turns[-1].role == item.role:
            if asks:
                turns.append(ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text=unanswered))
            else:
                turns[-1] = ChatMessage(role=item.role, text=f"{turns[-1].text}\n\n{item.text}")
                continue
        turns.append(item)
    if turns and turns[-1].role == MESSAGE_ROLE_USER:
        turns.append(ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text=unanswered))
    return turns

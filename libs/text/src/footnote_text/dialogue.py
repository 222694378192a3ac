"""Formats a conversation as lines for a prompt."""


def line(speaker: str, text: str) -> str:
    """Return "[speaker] text"; further lines are indented, so that none can pose as another speaker's."""
    return f"[{speaker}] " + "\n  ".join(text.splitlines())

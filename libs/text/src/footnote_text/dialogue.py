"""What was said, as lines for a prompt."""


def line(speaker: str, text: str) -> str:
    """Return "[speaker] text"; further lines of the text are indented, so that none can pose as another speaker's."""
    return f"[{speaker}] " + "\n  ".join(text.splitlines())

"""Word wrap for text that arrives in pieces, so that a streamed answer never breaks inside a word."""

from collections.abc import Callable


class WordWrapper:
    """Writes text in pieces and breaks lines between words at `width` columns; a width of 0 never breaks."""

    def __init__(self, write: Callable[[str], None], width: int) -> None:
        self._write = write
        self._width = width
        self._column = 0
        self._spaces = 0
        self._word = ""

    def feed(self, text: str) -> None:
        """Take the next piece. The word it ends in is held back until the next piece or `finish`."""
        if self._width == 0:
            self._write(text)
            self._column = 0 if text.endswith("\n") else 1
            return
        for character in text:
            if character == "\n":
                self._flush()
                self._write("\n")
                self._column = self._spaces = 0
            elif character == " ":
                self._flush()
                self._spaces += 1
            else:
                self._word += character

    def finish(self) -> None:
        """Write what is held back and end the line if one is begun."""
        self._flush()
        if self._column:
            self._write("\n")
            self._column = 0

    def _flush(self) -> None:
        if not self._word:
            return
        if self._column and self._column + self._spaces + len(self._word) > self._width:
            self._write("\n" + self._word)
            self._column = len(self._word)
        else:
            # Drop an indentation if the word would not fit after it.
            spaces = self._spaces if self._column else min(self._spaces, max(0, self._width - len(self._word)))
            self._write(" " * spaces + self._word)
            self._column += spaces + len(self._word)
        self._word = ""
        self._spaces = 0

"""A clock that tests set, in place of `time.monotonic`."""


class Clock:
    """Replaces `time.monotonic`: returns `now`, in seconds, which the test sets."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

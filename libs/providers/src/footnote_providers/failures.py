"""How a provider fails in a way that may pass."""


class RetryableFailure(Exception):
    """429, 5xx, a refused or cut connection, a time-out, an answer that cannot be read: worth another attempt.

    `retry_after` is the seconds that the provider asked to wait, None where it did not; `status` the HTTP status, 0
    where there was none.
    """

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.status = status

    @property
    def throttled(self) -> bool:
        """Whether everybody who calls the provider should slow down."""
        return self.status == 429

"""The exception for a provider's transient failures."""


class RetryableFailure(Exception):
    """A failure worth a retry: 429, 5xx, a refused or broken connection, a timeout, an unreadable response.

    `retry_after` is the delay in seconds that the provider asked for, None without one. `status` is the HTTP status,
    0 without one.
    """

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.status = status

    @property
    def throttled(self) -> bool:
        """Whether all callers of the provider should slow down."""
        return self.status == 429

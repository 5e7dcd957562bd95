"""When to retry a failed call."""

from __future__ import annotations

import dataclasses
import random

import grpc

from trivium.errors import TriviumError


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """When to retry calls. A call is retried if the server was full and said when
    to try again, or if no server answered. All calls of this API can be retried,
    except those that load or unload a model, which are made once. A call's timeout
    includes all attempts and the pauses between them: an error is raised at once
    if its pause would outlast the timeout.
    """

    #: Attempts of a call, the first included. In a stream: attempts in a row that
    #: brought no result.
    max_attempts: int = 5
    #: Seconds before the second attempt if no server answered. Each later pause is
    #: twice as long, but at most max_backoff.
    initial_backoff: float = 0.2
    max_backoff: float = 10.0

    def pause(self, error: TriviumError, attempts: int) -> float | None:
        """Returns the seconds to wait after this many attempts; None: give up."""
        if attempts >= self.max_attempts:
            return None
        return self.delay(error, attempts)

    def delay(self, error: TriviumError, attempts: int) -> float | None:
        """Returns the seconds to wait, without a limit of attempts; None: a retry
        would fail with the same error."""
        # Random, so that callers that were refused together do not retry
        # together.
        spread = random.uniform(1.0, 1.25)
        if error.code == grpc.StatusCode.RESOURCE_EXHAUSTED:
            if error.retry_delay is None:
                return None
            return error.retry_delay * spread
        if error.code == grpc.StatusCode.UNAVAILABLE:
            doubled = self.initial_backoff * 2.0 ** min(attempts - 1, 30)
            return min(doubled, self.max_backoff) * spread
        return None


#: Retries nothing: every error is raised at once.
NO_RETRY = RetryPolicy(max_attempts=1)

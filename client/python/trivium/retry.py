"""When a call that failed is made again."""

from __future__ import annotations

import dataclasses
import random

import grpc

from trivium.errors import TriviumError


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """Calls are made again where the server was full and said when to come
    back, and where none answered; every call of this API may be, but for those
    that order the server to load or unload a model, which are made once. A call's
    timeout includes the pauses and all attempts: an error whose pause would
    outlast it is raised at once.
    """

    #: Of a call, the first included; of a stream, those without any result.
    max_attempts: int = 5
    #: Seconds before the second attempt where no server answered; each later
    #: pause is twice as long, and at most max_backoff.
    initial_backoff: float = 0.2
    max_backoff: float = 10.0

    def pause(self, error: TriviumError, attempts: int) -> float | None:
        """Seconds to wait after so many attempts; None: give up."""
        if attempts >= self.max_attempts:
            return None
        return self.delay(error, attempts)

    def delay(self, error: TriviumError, attempts: int) -> float | None:
        """Seconds to wait, however many attempts there were; None: this error
        will be the same again."""
        # Callers that were refused together do not come back together.
        spread = random.uniform(1.0, 1.25)
        if error.code == grpc.StatusCode.RESOURCE_EXHAUSTED:
            if error.retry_delay is None:
                return None
            return error.retry_delay * spread
        if error.code == grpc.StatusCode.UNAVAILABLE:
            doubled = self.initial_backoff * 2.0 ** min(attempts - 1, 30)
            return min(doubled, self.max_backoff) * spread
        return None


#: Every error is raised at once.
NO_RETRY = RetryPolicy(max_attempts=1)

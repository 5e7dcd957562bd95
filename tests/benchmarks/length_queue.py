"""Requests that wait for a batch, sorted by length."""

import bisect
import collections


class LengthQueue:
    """The oldest request decides when a batch starts, and those nearest to it
    in length fill it: little padding, and nobody waits for ever.

        queue.add(len(tokens), now, request)
        if queue.wait(now) == 0: translate(queue.take())
    """

    def __init__(self, batch, window):
        """A batch holds at most `batch` and starts early once full; else it
        starts when its oldest has waited for `window` seconds."""
        self._batch = batch
        self._window = window
        self._sorted = []  # (length, number, request)
        self._arrivals = collections.deque()  # (number, length, time)
        self._taken = set()  # numbers still in _arrivals
        self._count = 0

    def __len__(self):
        return len(self._sorted)

    def add(self, length, now, request):
        # The number is unique, so requests are never compared.
        bisect.insort(self._sorted, (length, self._count, request))
        self._arrivals.append((self._count, length, now))
        self._count += 1

    def wait(self, now):
        """Seconds until a batch should start; None: nothing waits."""
        if not self._sorted:
            return None
        if len(self._sorted) >= self._batch:
            return 0
        return max(0, self._arrivals[0][2] + self._window - now)

    def take(self):
        """The next batch, of one request at least; something must wait."""
        number, length, _ = self._arrivals[0]
        low = bisect.bisect_left(self._sorted, (length, number))
        high = low + 1
        while high - low < min(self._batch, len(self._sorted)):
            below = length - self._sorted[low - 1][0] if low > 0 else None
            above = (self._sorted[high][0] - length
                     if high < len(self._sorted) else None)
            if above is None or (below is not None and below < above):
                low -= 1
            else:
                high += 1
        taken = self._sorted[low:high]
        del self._sorted[low:high]
        self._taken.update(number for _, number, _ in taken)
        while self._arrivals and self._arrivals[0][0] in self._taken:
            self._taken.remove(self._arrivals.popleft()[0])
        return [request for _, _, request in taken]

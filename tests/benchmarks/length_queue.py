"""Requests that wait for a batch, sorted by length."""


class LengthQueue:
    """The oldest request decides when a batch starts, and of those that have
    waited longest the ones nearest to it in length fill it: little padding,
    and nobody waits for ever.

        queue.add(len(tokens), now, request)
        if queue.wait(now) == 0: translate(queue.take())
    """

    def __init__(self, batch, window, among):
        """A batch holds at most `batch` and starts early once full; else it
        starts when its oldest has waited for `window` seconds. It is chosen
        among the oldest `among` x `batch`; 1: in the order of arrival."""
        self._batch = batch
        self._window = window
        self._among = among * batch
        self._waiting = []  # (length, time, request), oldest first

    def __len__(self):
        return len(self._waiting)

    def add(self, length, now, request):
        self._waiting.append((length, now, request))

    def wait(self, now):
        """Seconds until a batch should start; None: nothing waits."""
        if not self._waiting:
            return None
        if len(self._waiting) >= self._batch:
            return 0
        return max(0, self._waiting[0][1] + self._window - now)

    def take(self):
        """The next batch, of one request at least; something must wait."""
        def length(place):
            return self._waiting[place][0]

        # Places in _waiting by length; the oldest is place 0.
        places = sorted(range(min(self._among, len(self._waiting))), key=length)
        low = places.index(0)
        high = low + 1
        while high - low < min(self._batch, len(places)):
            below = length(0) - length(places[low - 1]) if low > 0 else None
            above = (length(places[high]) - length(0)
                     if high < len(places) else None)
            if above is None or (below is not None and below < above):
                low -= 1
            else:
                high += 1
        taken = set(places[low:high])
        batch = [self._waiting[place][2] for place in sorted(taken)]
        self._waiting = [entry for place, entry in enumerate(self._waiting)
                         if place not in taken]
        return batch

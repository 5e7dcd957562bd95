"""Finds the highest rate that passes, with few measurements."""

import math


def highest_rate(passes, rate, tolerance, step=1.25):
    """The highest rate with passes(rate), to within the factor 1 + tolerance;
    0 where not even a hundredth of `rate` passes. Starts at `rate` and goes up
    or down in steps until one passes and the next does not, then halves."""
    low, high = 0, math.inf
    at = rate
    while low == 0 or high == math.inf:
        if passes(at):
            low, at = at, at * step
        else:
            high, at = at, at / step
            if at < rate / 100:
                return 0
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        if passes(middle):
            low = middle
        else:
            high = middle
    return low


def best_setting(passes, settings, rate, tolerance):
    """The setting with the highest rate, and that rate: the first one's is
    searched, each other's only once it passes what would beat the best so
    far. passes(setting, rate)."""
    best, best_rate = None, 0
    for setting in settings:
        at = best_rate * (1 + tolerance) if best_rate else rate
        if best_rate and not passes(setting, at):
            continue
        known = at if best_rate else 0
        found = highest_rate(
            lambda r, s=setting, k=known: r == k or passes(s, r), at, tolerance)
        if found > best_rate:
            best, best_rate = setting, found
    return best, best_rate

"""Finds the best of a server's settings, with few measurements."""


def best_setting(passes, highest_rate, settings, tolerance):
    """The setting with the highest rate, and that rate: the first one's is
    searched, each other's only once it passes what would beat the best so
    far. passes(setting, rate); highest_rate(setting, start), where start may
    be None."""
    best, best_rate = None, 0
    for setting in settings:
        start = best_rate * (1 + tolerance) or None
        if start and not passes(setting, start):
            continue
        found = highest_rate(setting, start)
        if found > best_rate:
            best, best_rate = setting, found
    return best, best_rate

import unittest

from best_setting import best_setting


class Server:
    """Bears a rate of `capacity`; counts what it is asked."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.asked = []
        self.searched = []

    def passes(self, rate):
        self.asked.append(rate)
        return rate <= self.capacity

    def highest_rate(self, start):
        self.searched.append(start)
        return self.capacity


class BestSettingTest(unittest.TestCase):
    def best(self, servers):
        return best_setting(
            lambda name, rate: servers[name].passes(rate),
            lambda name, start: servers[name].highest_rate(start),
            servers, 0.05)

    def test_searches_only_what_may_be_better(self):
        servers = {name: Server(capacity) for name, capacity in
                   (("good", 100), ("bad", 50), ("best", 140), ("same", 141))}
        self.assertEqual(self.best(servers), ("best", 140))
        self.assertEqual(servers["good"].searched, [None])
        self.assertEqual(servers["bad"].asked, [105])
        self.assertEqual(servers["bad"].searched, [])
        self.assertEqual(servers["best"].searched, [105])
        self.assertEqual(servers["same"].searched, [])

    def test_goes_on_after_a_setting_that_bears_nothing(self):
        servers = {"dead": Server(0), "alive": Server(70)}
        self.assertEqual(self.best(servers), ("alive", 70))
        self.assertEqual(self.best({"dead": Server(0)}), (None, 0))


if __name__ == "__main__":
    unittest.main()

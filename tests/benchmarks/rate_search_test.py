import unittest

from rate_search import best_setting, highest_rate


class Server:
    """Bears a rate of `capacity`; counts what it is asked."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.asked = []

    def passes(self, rate):
        self.asked.append(rate)
        return rate <= self.capacity


class HighestRateTest(unittest.TestCase):
    def test_finds_the_capacity_from_either_side(self):
        for capacity in (3, 90, 100, 101, 5000):
            server = Server(capacity)
            found = highest_rate(server.passes, 100, 0.03)
            self.assertLessEqual(found, capacity)
            self.assertGreater(found * 1.03, capacity * 0.9999)
            self.assertEqual(len(set(server.asked)), len(server.asked))

    def test_a_server_that_bears_nothing_ends_the_search(self):
        server = Server(0)
        self.assertEqual(highest_rate(server.passes, 100, 0.03), 0)
        self.assertGreater(min(server.asked), 0.5)


class BestSettingTest(unittest.TestCase):
    def test_asks_the_worse_settings_once(self):
        servers = {name: Server(capacity) for name, capacity in
                   (("good", 100), ("bad", 50), ("best", 140), ("same", 141))}
        setting, rate = best_setting(
            lambda name, rate: servers[name].passes(rate), servers, 80, 0.05)
        self.assertEqual(setting, "best")
        self.assertLessEqual(rate, 140)
        self.assertGreater(rate, 140 / 1.051)
        self.assertEqual(len(servers["bad"].asked), 1)
        self.assertEqual(len(servers["same"].asked), 1)

    def test_goes_on_after_a_setting_that_bears_nothing(self):
        servers = {"dead": Server(0), "alive": Server(70)}
        setting, rate = best_setting(
            lambda name, rate: servers[name].passes(rate), servers, 80, 0.05)
        self.assertEqual(setting, "alive")
        self.assertGreater(rate, 70 / 1.051)


if __name__ == "__main__":
    unittest.main()

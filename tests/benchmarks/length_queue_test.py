import unittest

from length_queue import LengthQueue


class LengthQueueTest(unittest.TestCase):
    def test_waits_for_the_window_or_a_full_batch(self):
        queue = LengthQueue(batch=3, window=0.5, among=2)
        self.assertIsNone(queue.wait(10))
        queue.add(4, 10, "a")
        queue.add(4, 10.25, "b")
        self.assertEqual(queue.wait(10.25), 0.25)
        self.assertEqual(queue.wait(11), 0)
        queue.add(4, 10.25, "c")
        self.assertEqual(queue.wait(10.25), 0)

    def test_the_oldest_goes_with_those_nearest_in_length(self):
        queue = LengthQueue(batch=3, window=0, among=2)
        for name, length in (("oldest", 10), ("far", 80), ("near", 11),
                             ("short", 1), ("nearer", 9), ("second", 40)):
            queue.add(length, 0, name)
        self.assertEqual(sorted(queue.take()), ["near", "nearer", "oldest"])
        # Those left, though "far" is the last in length.
        self.assertEqual(sorted(queue.take()), ["far", "second", "short"])
        self.assertEqual(len(queue), 0)
        self.assertIsNone(queue.wait(0))

    def test_chooses_among_the_oldest_only(self):
        for among, expected in ((1, [10, 80]), (2, [10, 12]), (3, [10, 11])):
            queue = LengthQueue(batch=2, window=0, among=among)
            for length in (10, 80, 50, 12, 11):
                queue.add(length, 0, length)
            self.assertEqual(queue.take(), expected)

    def test_everyone_leaves_once_and_the_oldest_first(self):
        queue = LengthQueue(batch=4, window=0, among=8)
        for i in range(101):
            queue.add(i * 37 % 17, i, i)
        waiting = set(range(101))
        while len(queue):
            batch = queue.take()
            self.assertIn(min(waiting), batch)
            self.assertEqual(len(batch), min(4, len(waiting)))
            self.assertEqual(len(set(batch) & waiting), len(batch))
            waiting -= set(batch)
        self.assertEqual(waiting, set())


if __name__ == "__main__":
    unittest.main()

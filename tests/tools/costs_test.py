"""Tests of costs.py."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import costs


class CostsTest(unittest.TestCase):
    def test_a_target_counts_each_file_once_as_it_was_last_compiled(self):
        self.assertEqual(
            costs.compiled(["9.50 2048 base/CMakeFiles/base.dir/a.cc.o",
                            "1.50 4096 base/CMakeFiles/base.dir/b.cc.o",
                            "2.00 1024 base/CMakeFiles/base.dir/a.cc.o",
                            "0.25 1024 CMakeFiles/main.dir/x/main.cc.o"]),
            {"base": [3.5, 4], "main": [0.25, 1]})

    def test_reads_the_times_of_tests(self):
        self.assertEqual(
            costs.ran('1/2 Testing: a_test.avx2\n1/2 Test: a_test.avx2\n'
                      "Output:\n3/9 Testing: no test\n"
                      "Test time =   1.25 sec\n"
                      "2/2 Testing: b_test\nTest time =  30.00 sec\n"),
            {"a_test.avx2": 1.25, "b_test": 30.0})

    def test_a_launched_command_is_noted_and_its_code_returned(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "CMakeCache.txt").touch()
            (build / "base").mkdir()

            def launch(code):
                return subprocess.run(
                    [sys.executable, "-B", costs.__file__, "run",
                     sys.executable, "-c", f"import sys; sys.exit({code})",
                     "-o", "CMakeFiles/base.dir/a.cc.o"],
                    cwd=build / "base", check=False).returncode

            self.assertEqual(launch(0), 0)
            self.assertEqual(launch(3), 3)
            lines = (build / costs.LOG).read_text().splitlines()
            self.assertEqual(list(costs.compiled(lines)), ["base"])
            self.assertEqual(len(lines), 1)


if __name__ == "__main__":
    unittest.main()

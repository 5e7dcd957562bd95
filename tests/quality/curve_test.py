import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]
                       / "model/embedded/training"))
import curve  # noqa: E402


def line(step):
    return json.dumps({"step": step, "tokens": 1000 * step, "loss": 9 - step})


class CurveTest(unittest.TestCase):
    def draw(self, lines):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
            curve.draw(folder)
            return (folder / "curve.svg").read_text()

    def test_a_run_that_went_back_to_its_checkpoint_is_one_line(self):
        steps = [1, 2, 3, 2, 3, 4]
        drawn = self.draw([line(step) for step in steps])
        [points] = re.findall(r'<polyline points="([^"]*)"', drawn)
        places = [float(point.split(",")[0]) for point in points.split()]
        self.assertEqual(len(places), 4)
        self.assertEqual(places, sorted(places))
        self.assertEqual(drawn, self.draw([line(step) for step in (1, 2, 3, 4)]))


if __name__ == "__main__":
    unittest.main()

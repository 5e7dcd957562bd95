#!/usr/bin/env python3
"""Tests of check_links.py."""

import pathlib
import tempfile
import unittest

import check_links

OTHER = """# HTTP/2 against `gRPC`, again
## Twice
## Twice
```
# No heading
```
## [A link](x.md) to it
"""


class CheckLinksTest(unittest.TestCase):
    def check(self, line):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "other.md").write_text(OTHER)
            (folder / "model").mkdir()
            (folder / "model/row.h").touch()
            (folder / "page.md").write_text("# Title\n" + line + "\n")
            return [problem.split(": ", 1)[1]
                    for problem in check_links.check(folder / "page.md", folder)]

    def test_what_is_there(self):
        for anchor in ("", "#http2-against-grpc-again", "#twice", "#twice-1",
                       "#a-link-to-it"):
            self.assertEqual(self.check(f"[a](other.md{anchor})"), [], anchor)
        self.assertEqual(self.check("[a](#title) [b](https://x.org/none#n)"), [])
        self.assertEqual(self.check("`row.h`, `model/row.h`, `x/NAME.cc`"), [])
        self.assertEqual(self.check("`[a](none.md)`\n```\n[a](none.md)\n```"), [])

    def test_what_is_not(self):
        self.assertEqual(self.check("[a](none.md)"), ["there is no none.md"])
        self.assertEqual(self.check("`none.h`"), ["there is no none.h"])
        self.assertEqual(self.check("`base/row.h`"), ["there is no base/row.h"])
        self.assertEqual(self.check("[a](none.md#x)"), ["there is no none.md"])
        self.assertEqual(self.check("[a](#none)"), ["page.md has no #none"])
        for anchor in ("no-heading", "twice-2"):
            self.assertEqual(self.check(f"see [a](other.md#{anchor}) there"),
                             [f"other.md has no #{anchor}"])


if __name__ == "__main__":
    unittest.main()

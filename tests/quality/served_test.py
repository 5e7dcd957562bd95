import os
import pathlib
import tempfile
import unittest

from served import Served

SERVER = """#!/bin/sh
while [ $# -gt 1 ]; do
  [ "$1" = --port-file ] && ports=$2
  shift
done
echo $$ > "$0.pid"
echo "grpc 1" > "$ports"
exec sleep 1000
"""
CLIENT = """#!/bin/sh
case $1 in
  models) echo '{"isa": "avx2", "target_languages": [{"bcp47": "de"}]}' ;;
  generate) echo "${4#*=}, then $6" ;;
  *) cat ;;
esac
"""


class ServedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.programs = pathlib.Path(folder.name)
        self.write("trivium-server", SERVER)
        self.write("trivium", CLIENT)

    def write(self, name, script):
        (self.programs / name).write_text(script)
        (self.programs / name).chmod(0o755)

    def test_lines_end_where_the_client_ends_them(self):
        texts = ['"one\u2028text"', '"another\x85"']
        with Served(self.programs, "model") as server:
            self.assertEqual(server.targets, ["de"])
            self.assertEqual(server.translate(texts, "de"),
                             ["one\u2028text", "another\x85"])
        self.expect_no_server()

    def test_beginnings_stay_with_their_texts(self):
        texts = [f"text {i}" for i in range(20)]
        prefixes = [f"- prefix {i}" for i in range(20)]
        with Served(self.programs, "model") as server:
            self.assertEqual(
                server.complete(texts, prefixes, "de"),
                [f"- prefix {i}, then text {i}" for i in range(20)])

    def test_a_server_of_which_nothing_is_known_is_stopped(self):
        self.write("trivium", "#!/bin/sh\nexit 1\n")
        with self.assertRaisesRegex(Exception, "trivium"):
            with Served(self.programs, "model"):
                pass
        self.expect_no_server()

    def expect_no_server(self):
        process = int((self.programs / "trivium-server.pid").read_text())
        with self.assertRaises(ProcessLookupError):
            os.kill(process, 0)


if __name__ == "__main__":
    unittest.main()

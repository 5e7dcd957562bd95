"""Runs the Python client's tests without installing it.

run_tests.py [SERVER MODEL [ENGINE]]: without arguments, runs the tests that need no
server. With SERVER and MODEL, trivium-server and the embedded model, runs those that
use a real server (server_test.py). With ENGINE, the folder where trivium_engine is
installed, runs those of models in this process (model_test.py). Exits with 77 if this
Python lacks grpcio or protobuf.
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "client" / "python"), str(ROOT / "tests" / "support"),
                str(HERE)]

try:
    import google.protobuf  # noqa: F401
    import grpc  # noqa: F401
except ImportError as error:
    print("skipped: the Python client's tests, as this Python has no", error.name)
    sys.exit(77)

if len(sys.argv) > 3:
    sys.path.insert(0, sys.argv[3])
    names = ["model_test"]
elif len(sys.argv) > 1:
    names = ["server_test"]
else:
    names = ["client_test", "stubs_test", "translation_test"]
unittest.main(module=None, argv=[sys.argv[0], *names])

"""Tests docs/openapi.json with PyPI's validator of such documents.

openapi_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import json
import sys
import unittest

import chat_server


class OpenApiTest(unittest.TestCase):
    def test_the_document(self):
        openapi_spec_validator.validate(
            json.loads((chat_server.ROOT / "docs/openapi.json").read_text()))


if __name__ == "__main__":
    chat_server.begin("openapi-spec-validator")
    import openapi_spec_validator
    unittest.main(argv=sys.argv[:1])

"""Tests a real server with Instructor.

instructor_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import sys
import typing
import unittest

import chat_server

HELLO = [{"role": "user", "content": "Hello you"}]


class InstructorTest(chat_server.ServerTest):
    def test_every_mode(self):
        class City(pydantic.BaseModel, extra="forbid"):
            """A city."""

            name: typing.Literal["Paris", "Bern"]
            hills: list[typing.Literal[1, 2, 3]] = pydantic.Field(max_length=3)
            capital: bool

        with openai.OpenAI(base_url=self.url + "/v1", api_key="none",
                           max_retries=0) as plain:
            for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT,
                         instructor.Mode.JSON_SCHEMA):
                with self.subTest(mode):
                    client = instructor.from_openai(plain, mode=mode)
                    options = dict(model="plain", messages=HELLO, temperature=0,
                                   max_tokens=300, max_retries=0,
                                   logit_bias=chat_server.no_spaces())
                    city = client.chat.completions.create(response_model=City,
                                                          **options)
                    self.assertIsInstance(city, City)
                    *_, last = client.chat.completions.create_partial(
                        response_model=City, **options)
                    self.assertEqual(last.model_dump(), city.model_dump())


if __name__ == "__main__":
    chat_server.begin("instructor")
    import instructor
    import openai
    import pydantic
    unittest.main(argv=sys.argv[:1])

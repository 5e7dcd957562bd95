"""Tests a real server with Pydantic AI's agents.

pydantic_ai_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import sys
import typing
import unittest

import chat_server


class PydanticAiTest(chat_server.ServerTest):
    def agent(self, responses=False, **options):
        provider = OpenAIProvider(base_url=self.url + "/v1", api_key="none")
        kind = OpenAIResponsesModel if responses else OpenAIChatModel
        return Agent(kind("plain", provider=provider),
                     model_settings={"temperature": 0, "max_tokens": 1000,
                                     "parallel_tool_calls": False,
                                     "logit_bias": chat_server.no_spaces()},
                     retries=0, **options)

    def test_texts(self):
        agent = self.agent()
        result = agent.run_sync("Hello you", model_settings={"max_tokens": 8})
        self.assertTrue(result.output)
        self.assertGreater(result.usage.output_tokens, 0)

    def test_a_loop_with_a_tool(self):
        """Each step has one tool, and must call it."""

        class Report(pydantic.BaseModel):
            rain: bool

        for responses in (False, True):
            with self.subTest(responses=responses):
                async def first(context, tools):
                    return [one for one in tools if context.run_step == 1]

                async def later(context, tools):
                    return [one for one in tools if context.run_step > 1]

                agent = self.agent(
                    responses, output_type=Report, instructions="Be kind.",
                    capabilities=[PrepareTools(first), PrepareOutputTools(later)])
                cities = []

                @agent.tool_plain
                def weather(city: typing.Literal["Bern", "Oslo"]) -> str:
                    """The weather of a city."""
                    cities.append(city)
                    return "It rains."

                result = agent.run_sync("Hello you")
                self.assertIsInstance(result.output, Report)
                self.assertEqual(len(cities), 1)

    def test_forms(self):
        class City(pydantic.BaseModel):
            name: typing.Literal["Paris", "Bern"]
            capital: bool

        for form in (NativeOutput(City), ToolOutput(City)):
            with self.subTest(type(form).__name__):
                output = self.agent(output_type=form).run_sync("Hello you").output
                self.assertIsInstance(output, City)


if __name__ == "__main__":
    chat_server.begin("pydantic-ai-slim[openai]")
    import pydantic
    from pydantic_ai import Agent, NativeOutput, ToolOutput
    from pydantic_ai.capabilities import PrepareOutputTools, PrepareTools
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider
    unittest.main(argv=sys.argv[:1])

#include "model/chat_format/answer_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat_format/chat_reader.h"
#include "model/chat_format/tool_grammar.h"
#include "model/grammar/frontends.h"
#include "tests/model/chat_format/templates.h"
#include "tests/model/chat_format/transcripts.h"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using Calls = AnswerGrammarOptions::Calls;
using absl::StatusCode::kInvalidArgument;

ChatFormat FormatOf(const char* source) {
  auto parsed = ChatTemplate::Parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return ChatFormat::Learn(*parsed);
}

std::vector<ChatTool> AnswerTools() {
  return *ParseChatTools(TranscriptTools());
}

std::shared_ptr<const Constraint> Answers(const ChatFormat& format,
                                          const AnswerGrammarOptions& options) {
  return ConstraintOf(GrammarOfAnswer(format, AnswerTools(), options),
                      ByteVocabulary());
}

constexpr const char* kHeldStyles[] = {
    kTagged, kBare, kList, kNamed, kParameters, kKeysAndValues, kChannels};

constexpr char kTaggedCall[] =
    "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": "
    "\"a\"}}\n</tool_call>";

// What templates write of whole answers is a text of their grammar.
TEST(AnswerGrammarTest, HasTheAnswersThatTemplatesWrite) {
  int accepted = 0;
  for (const char* const style : kHeldStyles) {
    auto parsed = ChatTemplate::Parse(style);
    ASSERT_TRUE(parsed.ok());
    const ChatFormat format = ChatFormat::Learn(*parsed);
    const auto inside =
        Answers(format, {.calls = Calls::kMay, .thinking = true});
    const auto outside = Answers(format, {.calls = Calls::kMay});
    for (const Transcript& transcript : Transcripts()) {
      const auto written = Generate(*parsed, format, transcript, "{}");
      if (!written) continue;
      // A turn of gpt-oss has one call, and white space where there are no
      // parameters may differ.
      if (style == kChannels && transcript.calls.size() > 1) continue;
      if (style == kParameters && transcript.name == "empty call") continue;
      EXPECT_TRUE(
          Accepts(written->thinking ? *inside : *outside, written->text))
          << transcript.name << ": " << written->text;
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 30);
}

// Whatever is read as a call is one, with arguments that are JSON.
TEST(AnswerGrammarTest, HoldsCallsWhereverTheyBegin) {
  std::mt19937_64 random(3);
  int calls = 0;
  for (const char* const style : kHeldStyles) {
    SCOPED_TRACE(style);
    const ChatFormat format = FormatOf(style);
    for (const bool thinking : {false, true}) {
      if (thinking && !format.thinking().known()) continue;
      for (const Calls choice : {Calls::kMay, Calls::kMust}) {
        const auto constraint =
            Answers(format, {.calls = choice, .thinking = thinking});
        ASSERT_NE(constraint, nullptr);
        for (int i = 0; i < 8; ++i) {
          const auto text = RandomText(constraint, &random, 60);
          if (!text) continue;
          const ReadMessage read =
              ReadChatMessage(format, AnswerTools(), thinking, *text);
          for (const ReadMessage::Call& call : read.calls) {
            EXPECT_TRUE(call.complete) << *text;
            EXPECT_TRUE(nlohmann::json::accept(call.arguments)) << *text;
            ++calls;
          }
          if (choice == Calls::kMust) {
            EXPECT_FALSE(read.calls.empty()) << *text;
            EXPECT_EQ(read.content, "") << *text;
          }
        }
      }
    }
  }
  EXPECT_GT(calls, 20);
}

TEST(AnswerGrammarTest, TextIsFreeUpToTheMark) {
  const std::string call = kTaggedCall;
  const auto tagged = Answers(FormatOf(kTagged), {.calls = Calls::kMay});
  for (const std::string& text :
       {std::string(""), std::string("Hi <tool_cal"), "So: " + call,
        "<think>\n<tool_call> or not\n</think>\n\n" + call, call + call,
        std::string("<think> still <tool_call> here"),
        std::string("x <think> <tool_ <tool_c <\xc3\xbc")}) {
    EXPECT_TRUE(Accepts(*tagged, text)) << text;
  }
  for (const std::string& text :
       {std::string("Hi <tool_call>"), "So: " + call + " and more",
        std::string("<tool_call>\n{\"name\": \"none\", \"arguments\": {}}\n"
                    "</tool_call>"),
        std::string("</think><tool_call>hm"),
        std::string("<<tool_call>\n</tool_call>"), std::string("\xc3")}) {
    EXPECT_FALSE(Accepts(*tagged, text)) << text;
  }
  const auto one =
      Answers(FormatOf(kTagged), {.calls = Calls::kMay, .parallel = false});
  EXPECT_TRUE(Accepts(*one, call));
  EXPECT_FALSE(Accepts(*one, call + call));
}

// The grammar of a tool's schema keeps its bounds inside of the answer's.
TEST(AnswerGrammarTest, LengthsOfParametersHold) {
  const auto tools = ParseChatTools(R"([{"type": "function", "function": {
      "name": "fetch", "parameters": {"type": "object", "required": ["url"],
        "properties": {"url": {"type": "string", "format": "uri",
                               "maxLength": 20}}}}}])");
  ASSERT_TRUE(tools.ok()) << tools.status();
  const auto constraint = ConstraintOf(
      GrammarOfAnswer(FormatOf(kTagged), *tools, {.calls = Calls::kMust}),
      ByteVocabulary());
  const auto call = [](std::string_view url) {
    return "<tool_call>\n{\"name\": \"fetch\", \"arguments\": {\"url\": \"" +
           std::string(url) + "\"}}\n</tool_call>";
  };
  EXPECT_TRUE(Accepts(*constraint, call("https://a.org/234567")));
  EXPECT_FALSE(Accepts(*constraint, call("https://a.org/2345678")));
}

// A call without a mark is the whole message.
TEST(AnswerGrammarTest, TextThatBeginsAsACallDoesIsOne) {
  const auto bare = Answers(FormatOf(kBare), {.calls = Calls::kMay});
  EXPECT_TRUE(Accepts(*bare, "Hello {\"a\": 1}"));
  EXPECT_TRUE(Accepts(
      *bare, "{\"name\": \"search\", \"parameters\": {\"query\": \"a\"}}"));
  EXPECT_FALSE(Accepts(*bare, "{\"a\": 1}"));
  EXPECT_FALSE(Accepts(*bare, " {"));
}

TEST(AnswerGrammarTest, ThoughtsComeBeforeWhatIsHeld) {
  const std::string call = kTaggedCall;
  const ChatFormat format = FormatOf(kTagged);
  const auto must = Answers(format, {.calls = Calls::kMust});
  EXPECT_TRUE(Accepts(*must, call));
  EXPECT_TRUE(Accepts(*must, "<think>\nhm\n</think>\n\n" + call));
  EXPECT_FALSE(Accepts(*must, "hm " + call));
  EXPECT_FALSE(Accepts(*must, "<think>\nhm\n" + call));
  const auto opened =
      Answers(format, {.calls = Calls::kMust, .thinking = true});
  EXPECT_TRUE(Accepts(*opened, "hm\n</think>\n\n" + call));
  EXPECT_FALSE(Accepts(*opened, call));
  const auto named =
      Answers(format, {.calls = Calls::kMust, .tool = "get_weather"});
  EXPECT_FALSE(Accepts(*named, call));

  const Grammar yes = *GrammarOfRegex("yes|no");
  const auto content = Answers(format, {.content = &yes});
  EXPECT_TRUE(Accepts(*content, "yes"));
  EXPECT_TRUE(Accepts(*content, "<think>\nyes or no\n</think>\n\nno"));
  EXPECT_FALSE(Accepts(*content, "maybe"));
  const auto either = Answers(format, {.calls = Calls::kMay, .content = &yes});
  EXPECT_TRUE(Accepts(*either, "yes"));
  EXPECT_TRUE(Accepts(*either, call));
  EXPECT_FALSE(Accepts(*either, "yes" + call));
  const auto final = Answers(FormatOf(kChannels), {.content = &yes});
  EXPECT_TRUE(Accepts(*final,
                      "<|channel|>analysis<|message|>hm<|end|><|start|>"
                      "assistant<|channel|>final<|message|>yes"));
  EXPECT_FALSE(Accepts(*final, "<|channel|>final<|message|>hm"));
}

TEST(AnswerGrammarTest, JsonIsToldFromCallsByItsMark) {
  EXPECT_FALSE(MayBeginAsCalls(FormatOf(kTagged)));
  EXPECT_FALSE(MayBeginAsCalls(FormatOf(kList)));  // [TOOL_CALLS]
  EXPECT_FALSE(MayBeginAsCalls(FormatOf(kChannels)));
  EXPECT_TRUE(MayBeginAsCalls(FormatOf(kBare)));
  EXPECT_THAT(GrammarOfAnswer(FormatOf(kQuoted), AnswerTools(),
                              {.calls = Calls::kMust}),
              IsError(kInvalidArgument, "tools"));
}

// With calls_first, a call inside of content is content.
TEST(AnswerGrammarTest, CallsInsideOfContentOfAFormAreContent) {
  const ChatFormat format = FormatOf(kTagged);
  const std::string call = kTaggedCall;
  for (const bool calls_first : {false, true}) {
    ChatReader reader(&format, AnswerTools(), /*thinking=*/false, calls_first);
    ReadMessage message;
    for (const auto& delta : reader.Read("[1]" + call)) message.Add(delta);
    for (const auto& delta : reader.Finish()) message.Add(delta);
    EXPECT_EQ(message.calls.empty(), calls_first);
    EXPECT_EQ(message.content, calls_first ? "[1]" + call : "[1]");
  }
}

}  // namespace
}  // namespace trivium

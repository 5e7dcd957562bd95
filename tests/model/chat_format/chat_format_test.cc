#include "model/chat_format/chat_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "fmt/format.h"
#include "model/chat_format/answer_grammar.h"
#include "model/chat_format/chat_reader.h"
#include "model/chat_format/text_units.h"
#include "model/chat_format/tool_grammar.h"
#include "tests/model/chat_format/templates.h"
#include "tests/model/chat_format/transcripts.h"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using Form = ToolCallFormat::Form;
using absl::StatusCode::kInvalidArgument;

ChatTemplate ParseTemplate(const char* source) {
  auto parsed = ChatTemplate::Parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *std::move(parsed);
}

ChatFormat Learned(const char* source) {
  return ChatFormat::Learn(ParseTemplate(source));
}

std::vector<ChatTool> Tools() { return *ParseChatTools(TranscriptTools()); }

struct Style {
  const char* name;
  const char* source;
  Form form;
  const char* mark;      // of a call
  const char* thinking;  // begin mark
  int refused;           // transcripts that the template does not render
};

constexpr Style kStyles[] = {
    {"tagged", kTagged, Form::kJson, "<tool_call>", "<think>", 0},
    {"bare", kBare, Form::kJson, "", "", 4},
    {"list", kList, Form::kJson, "[TOOL_CALLS]", "", 0},
    {"named", kNamed, Form::kNamedJson, "<|calls_begin|>", "", 0},
    {"parameters", kParameters, Form::kParameters,
     "<tool_call>\n<function=", "<think>", 0},
    {"keys and values", kKeysAndValues, Form::kParameters, "<tool_call>", "",
     0},
    {"quoted", kQuoted, Form::kQuoted, "<|tool_call>call:", "", 0},
    {"channels", kChannels, Form::kHarmony, "to=functions.",
     "<|channel|>analysis<|message|>", 0},
};

TEST(ChatFormatTest, LearnsMarks) {
  for (const Style& style : kStyles) {
    SCOPED_TRACE(style.name);
    const ChatFormat format = Learned(style.source);
    EXPECT_TRUE(format.knows_tools());
    EXPECT_TRUE(format.writes_calls());
    EXPECT_EQ(format.calls().form, style.form);
    EXPECT_EQ(format.CallMark(), style.mark);
    EXPECT_EQ(format.thinking().begin, style.thinking);
  }
  const ChatFormat none = Learned(kNoTools);
  EXPECT_FALSE(none.knows_tools());
  EXPECT_FALSE(none.writes_calls());
  EXPECT_FALSE(none.thinking().known());
}

TEST(ChatFormatTest, LearnsTheSwitchOfThinking) {
  const ChatFormat format = Learned(kTagged);
  EXPECT_EQ(format.thinking().variable, "enable_thinking");
  EXPECT_EQ(format.thinking().on, "true");
  EXPECT_EQ(format.thinking().off, "false");
  EXPECT_EQ(format.thinking().end, "</think>");
  EXPECT_FALSE(format.OpensThinking("<|im_start|>assistant\n"));
  EXPECT_TRUE(format.OpensThinking("<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(format.OpensThinking("<think>\n\n</think>\n\n"));
  EXPECT_EQ(Learned(kParameters).thinking().variable, "");
}

TEST(ChatReaderTest, TranscriptsParseBackWhateverTheCuts) {
  for (const Style& style : kStyles) {
    const ChatTemplate chat_template = ParseTemplate(style.source);
    const ChatFormat format = ChatFormat::Learn(chat_template);
    int refused = 0;
    for (const Transcript& transcript : Transcripts()) {
      SCOPED_TRACE(std::string(style.name) + ": " + transcript.name);
      if (!transcript.reasoning.empty() && !format.thinking().known()) continue;
      const auto generated = Generate(chat_template, format, transcript, "{}");
      refused += !generated;
      if (generated) {
        EXPECT_EQ(Compare(format, transcript, *generated), "")
            << generated->text;
      }
    }
    EXPECT_EQ(refused, style.refused) << style.name;
  }
}

TEST(ChatReaderTest, GivesArgumentsPieceByPiece) {
  const ChatFormat format = Learned(kTagged);
  ChatReader reader(&format, Tools(), /*thinking=*/false);
  const auto first = reader.Read("Hello <tool_call>\n{\"name\": \"search\", ");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].text, "Hello");
  const auto second = reader.Read("\"arguments\": {\"query\": \"a");
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].kind, ChatDelta::Kind::kCallBegin);
  EXPECT_EQ(second[0].text, "search");
  EXPECT_EQ(second[1].kind, ChatDelta::Kind::kArguments);
  EXPECT_EQ(second[1].text, "{\"query\": \"a");
  const auto third = reader.Read("b\"}}\n</tool_");
  ASSERT_EQ(third.size(), 2u);
  EXPECT_EQ(third[0].text, "b\"}");
  EXPECT_EQ(third[1].kind, ChatDelta::Kind::kCallEnd);
  EXPECT_TRUE(reader.Read("call>").empty());
  EXPECT_TRUE(reader.Finish().empty());
}

TEST(ChatReaderTest, StreamsTextsOfParameters) {
  const ChatFormat format = Learned(kParameters);
  ChatReader reader(&format, Tools(), /*thinking=*/false);
  reader.Read("<tool_call>\n<function=search>\n<parameter=query>\nab");
  const auto deltas = reader.Read("c \"d\"\n</para");
  ASSERT_EQ(deltas.size(), 1u);
  EXPECT_EQ(deltas[0].text, "c \\\"d\\\"");
  const auto rest = reader.Read("graph>\n</parameter>\n");
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].text, "\\n</paragraph>\"");
}

TEST(ChatReaderTest, HoldsBackCharactersAndMarksOnly) {
  const ChatFormat format = Learned(kTagged);
  ChatReader reader(&format, Tools(), /*thinking=*/false);
  EXPECT_EQ(reader.Read("a\xC3").at(0).text, "a");
  EXPECT_EQ(reader.Read("\xBC<").at(0).text, "ü");
  EXPECT_EQ(reader.Read("b").at(0).text, "<b");
  EXPECT_TRUE(reader.Read(" ").empty());
  EXPECT_TRUE(reader.Read("<tool_ca").empty());
  EXPECT_EQ(reader.Finish().at(0).text, " <tool_ca");
}

struct Malformed {
  const char* source;
  const char* text;
  const char* content;  // nullptr: the text
};

// Texts that look like calls, but are none.
TEST(ChatReaderTest, MalformedCallsAreContent) {
  constexpr Malformed kTexts[] = {
      {kTagged, "<tool_call>", nullptr},
      {kTagged, "Say <tool_call> to call.", nullptr},
      {kTagged, "<tool_call>\n{\"name\": \"search\"}\n</tool_call>", nullptr},
      {kTagged,
       "<tool_call>{\"name\": \"none\", \"arguments\": {}}</tool_call>",
       nullptr},
      {kTagged, "<tool_call>{\"other\": 1}</tool_call>", nullptr},
      {kTagged, "<tool_call>{\"name\": \"search\", \"arguments\": [1]}",
       nullptr},
      {kTagged, "<tool_call>{\"name\": \"sea", nullptr},
      {kTagged, "<tool_call>{\"\xFF\": 1}", nullptr},
      {kBare, "{\"name\": \"Bob\", \"age\": 3}", nullptr},
      {kBare, "{}", nullptr},
      {kBare, "x {\"name\": \"search\", \"parameters\": {}}", nullptr},
      {kList, "[TOOL_CALLS] none", nullptr},
      {kList, "[TOOL_CALLS][{\"name\": \"search\"}]", nullptr},
      {kNamed, "<|calls_begin|><|call_begin|>functions.none:0<|args|>{}",
       nullptr},
      {kParameters, "<tool_call>\n<function=none>\n</function>", nullptr},
      {kKeysAndValues, "<tool_call>none</tool_call>", nullptr},
      {kChannels, "Hello <|x|>", nullptr},
      {kChannels, " to=functions.none<|channel|>commentary<|message|>{}",
       nullptr},
      {kChannels, "<|channel|>final<|message|>a < b<|end|>", "a < b"},
      {kNoTools, "<tool_call>{\"name\": \"search\"}", nullptr},
  };
  const std::vector<ChatTool> tools = Tools();
  for (const Malformed& one : kTexts) {
    SCOPED_TRACE(one.text);
    const ChatFormat format = Learned(one.source);
    const char* content = one.content ? one.content : one.text;
    const ReadMessage whole = ReadChatMessage(format, tools, false, one.text);
    EXPECT_EQ(whole.content, content);
    EXPECT_TRUE(whole.calls.empty());
    for (unsigned seed = 0; seed < 9; ++seed) {
      const ReadMessage cut =
          ReadInPieces(format, tools, false, one.text, seed);
      EXPECT_EQ(cut.content, content);
      EXPECT_TRUE(cut.calls.empty());
    }
  }
}

TEST(ChatReaderTest, ACallMayFollowAMalformedOne) {
  const ChatFormat format = Learned(kTagged);
  const ReadMessage read = ReadChatMessage(
      format, Tools(), false,
      "<tool_call>{\"x <tool_call>{\"name\": \"search\", \"arguments\": {}}"
      "</tool_call> bye");
  EXPECT_EQ(read.content, "<tool_call>{\"x bye");
  ASSERT_EQ(read.calls.size(), 1u);
  EXPECT_EQ(read.calls[0].arguments, "{}");
}

TEST(ChatReaderTest, ACallThatBreaksHasNoEnd) {
  const ChatFormat format = Learned(kTagged);
  const ReadMessage broken = ReadChatMessage(
      format, Tools(), false,
      "<tool_call>{\"name\": \"search\", \"arguments\": {\"a\": oops}}");
  ASSERT_EQ(broken.calls.size(), 1u);
  EXPECT_FALSE(broken.calls[0].complete);
  EXPECT_EQ(broken.calls[0].arguments, "{\"a\": ");
  EXPECT_EQ(broken.content, "oops}}");
  const ReadMessage cut = ReadChatMessage(
      format, Tools(), false,
      "<tool_call>{\"name\": \"search\", \"arguments\": {\"a\": 1");
  ASSERT_EQ(cut.calls.size(), 1u);
  EXPECT_FALSE(cut.calls[0].complete);
  EXPECT_EQ(cut.content, "");
}

// Values that are no strings come as JSON, or as Python writes them.
TEST(ChatReaderTest, ReadsBareValuesByTheirTypes) {
  const ChatFormat format = Learned(kKeysAndValues);
  const ReadMessage read = ReadChatMessage(
      format, Tools(), false,
      "<tool_call>get_weather<arg_key>city</arg_key><arg_value>7</arg_value>"
      "<arg_key>days</arg_key><arg_value>8</arg_value>"
      "<arg_key>options</arg_key><arg_value>{'a': [True, None, \"it's\"]}"
      "</arg_value><arg_key>exact</arg_key><arg_value>False</arg_value>"
      "<arg_key>other</arg_key><arg_value>so</arg_value></tool_call>");
  ASSERT_EQ(read.calls.size(), 1u);
  EXPECT_EQ(read.calls[0].arguments,
            "{\"city\": \"7\", \"days\": 8, \"options\": {\"a\": [true, "
            "null, \"it's\"]}, \"exact\": false, \"other\": \"so\"}");
}

TEST(ChatToolsTest, SchemasThatNameThemselvesOftenAreReadAtOnce) {
  std::string choices;
  for (int i = 0; i < 200; ++i) {
    choices += R"({"$ref": "#/properties/a"}, )";
  }
  const auto tools = ParseChatTools(
      R"([{"type": "function", "function": {"name": "f", "parameters":
          {"type": "object", "properties": {"a": {"anyOf": [)" +
      choices + R"({"type": "string"}]}, "b": {"$ref": "#/properties/c"},
                   "c": {"type": "string"}}}}}])");
  ASSERT_TRUE(tools.ok()) << tools.status();
  EXPECT_EQ(BareValueOf(tools->front(), "a"), BareValue::kJsonOrString);
  EXPECT_EQ(BareValueOf(tools->front(), "b"), BareValue::kString);
}

TEST(ChatReaderTest, WithoutToolsCallsAreContent) {
  const ChatFormat format = Learned(kTagged);
  const std::string text =
      "<tool_call>\n{\"name\": \"search\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(ReadChatMessage(format, {}, false, text).content, text);
}

TEST(ChatReaderTest, ReadsThoughtsThatThePromptOpened) {
  const ChatFormat format = Learned(kParameters);
  const ReadMessage read = ReadChatMessage(format, Tools(), /*thinking=*/true,
                                           "\na < b\n</think>\n\nSo.");
  EXPECT_EQ(read.reasoning, "a < b");
  EXPECT_EQ(read.content, "So.");
  const ReadMessage open =
      ReadChatMessage(format, Tools(), /*thinking=*/true, "hm </thi");
  EXPECT_EQ(open.reasoning, "hm </thi");
}

// A transcript's beginning and then marks and JSON in any order: whole and cut
// texts read alike, every delta is UTF-8, and calls that end have arguments
// that are JSON.
TEST(ChatReaderTest, AnyTextReadsAlikeWhateverTheCuts) {
  constexpr const char* kPieces[] = {"<tool_call>",
                                     "</tool_call>",
                                     "\n",
                                     " ",
                                     "{",
                                     "}",
                                     "\"name\"",
                                     ":",
                                     "\"search\"",
                                     ",",
                                     "\"arguments\"",
                                     "<think>",
                                     "</think>",
                                     "[TOOL_CALLS]",
                                     "[",
                                     "]",
                                     "ü",
                                     "🚀",
                                     "x",
                                     "<function=search>",
                                     "<parameter=query>",
                                     "</parameter>",
                                     "</function>",
                                     "search",
                                     "<arg_key>",
                                     "</arg_key><arg_value>",
                                     "</arg_value>",
                                     "<|channel|>",
                                     "<|message|>",
                                     "<|end|>",
                                     "<|start|>assistant",
                                     "final",
                                     " to=functions.search",
                                     "<|calls_begin|>",
                                     "<|call_begin|>functions.",
                                     "<|call_end|>",
                                     "1",
                                     "\"",
                                     "\\",
                                     "<"};
  const std::vector<ChatTool> tools = Tools();
  std::mt19937 random(7);
  int ended = 0, broken = 0;
  for (const Style& style : kStyles) {
    const ChatTemplate chat_template = ParseTemplate(style.source);
    const ChatFormat format = ChatFormat::Learn(chat_template);
    std::vector<std::string> texts;
    for (const Transcript& transcript : Transcripts()) {
      const auto text = Generate(chat_template, format, transcript, "{}");
      if (text) texts.push_back(text->text);
    }
    for (int i = 0; i < 300; ++i) {
      std::string text = texts[random() % texts.size()];
      text.resize(random() % (text.size() + 1));
      text.resize(WholeSize(text));
      for (unsigned n = random() % 12; n > 0; --n) {
        text += kPieces[random() % std::size(kPieces)];
      }
      const bool thinking = random() % 4 == 0;
      const ReadMessage whole = ReadChatMessage(format, tools, thinking, text);
      const ReadMessage cut =
          ReadInPieces(format, tools, thinking, text, random());
      ASSERT_EQ(whole.content, cut.content) << text;
      ASSERT_EQ(whole.reasoning, cut.reasoning) << text;
      ASSERT_EQ(whole.calls.size(), cut.calls.size()) << text;
      ASSERT_TRUE(IsUtf8(whole.content)) << text;
      for (size_t c = 0; c < whole.calls.size(); ++c) {
        const ReadMessage::Call& call = whole.calls[c];
        ASSERT_EQ(call.arguments, cut.calls[c].arguments) << text;
        ASSERT_EQ(call.complete, cut.calls[c].complete) << text;
        ++(call.complete ? ended : broken);
        if (call.complete) {
          ASSERT_TRUE(nlohmann::json::accept(call.arguments)) << text;
        }
      }
    }
  }
  EXPECT_GT(ended, 100);
  EXPECT_GT(broken, 100);
}

TEST(ToolGrammarTest, HoldsTextsToCallsThatReadBack) {
  std::mt19937_64 random(1);
  const auto vocabulary = ByteVocabulary();
  for (const Style& style : kStyles) {
    SCOPED_TRACE(style.name);
    const ChatTemplate chat_template = ParseTemplate(style.source);
    const ChatFormat format = ChatFormat::Learn(chat_template);
    const auto grammar =
        GrammarOfToolCalls(format, Tools(), {.parallel = true});
    if (style.form == Form::kQuoted) {
      EXPECT_THAT(grammar, IsError(kInvalidArgument, "tools"));
      continue;
    }
    const auto constraint = ConstraintOf(grammar, vocabulary);
    ASSERT_NE(constraint, nullptr);
    for (int i = 0; i < 3; ++i) {
      const auto text = RandomText(constraint, &random, 120);
      if (!text) continue;
      const ReadMessage read =
          ReadChatMessage(format, Tools(), /*thinking=*/false, *text);
      EXPECT_EQ(read.content, "") << *text;
      ASSERT_FALSE(read.calls.empty()) << *text;
      for (const ReadMessage::Call& call : read.calls) {
        EXPECT_TRUE(call.complete) << *text;
        EXPECT_TRUE(nlohmann::json::accept(call.arguments)) << *text;
      }
    }
    // Transcripts of calls alone are texts of the grammar.
    for (const Transcript& transcript : Transcripts()) {
      if (transcript.name != "empty call" && transcript.name != "two calls") {
        continue;
      }
      const auto generated = Generate(chat_template, format, transcript, "{}");
      if (!generated || format.thinking().known()) continue;
      EXPECT_TRUE(Accepts(*constraint, Trim(generated->text)))
          << generated->text;
    }
  }
}

TEST(ToolGrammarTest, OneToolAndBehindTheMark) {
  const ChatFormat format = Learned(kTagged);
  const auto named =
      ConstraintOf(GrammarOfToolCalls(format, Tools(), {.tool = "search"}));
  ASSERT_NE(named, nullptr);
  EXPECT_TRUE(Accepts(*named,
                      "<tool_call>\n{\"name\": \"search\", \"arguments\": "
                      "{\"query\": \"a\"}}\n</tool_call>"));
  EXPECT_FALSE(Accepts(*named,
                       "<tool_call>\n{\"name\": \"get_weather\", "
                       "\"arguments\": {\"city\": \"a\"}}\n</tool_call>"));
  EXPECT_FALSE(Accepts(*named,
                       "<tool_call>\n{\"name\": \"search\", \"arguments\": "
                       "{\"query\": 1}}\n</tool_call>"));
  const auto behind = ConstraintOf(GrammarOfToolCalls(
      format, Tools(), {.tool = "search", .with_mark = false}));
  ASSERT_NE(behind, nullptr);
  EXPECT_TRUE(Accepts(*behind,
                      "\n{\"name\": \"search\", \"arguments\": {}}\n"
                      "</tool_call>"));
}

// What pydantic and servers of tools write is held where a model writes its
// parameters as bare text: strings as they are, the rest as JSON.
TEST(ToolGrammarTest, ManyReferencesOfALargeSchemaAreRefused) {
  const auto grammar = [](int parameters) {
    std::string properties;
    for (int i = 0; i < parameters; ++i) {
      properties += fmt::format(R"("p{}": {{"$ref": "#/$defs/U"}}, )", i);
    }
    const auto tools = ParseChatTools(
        R"([{"type": "function", "function": {"name": "f", "parameters":
            {"$defs": {"U": {"type": "boolean"}}, "properties": {)" +
        properties + R"("b": {"type": "string"}}}}}])");
    return GrammarOfToolCalls(Learned(kParameters), *tools, {}).status();
  };
  EXPECT_TRUE(grammar(200).ok());
  EXPECT_THAT(grammar(3000),
              IsError(absl::StatusCode::kResourceExhausted, "parameters"));
}

TEST(ToolGrammarTest, HoldsBareParameters) {
  const auto tools = ParseChatTools(R"j([{"type": "function", "function": {
      "name": "f", "parameters": {"type": "object", "title": "F",
        "$defs": {"Unit": {"enum": ["c", "f</parameter>"]},
                  "Node": {"type": "array", "uniqueItems": true,
                           "items": {"type": "string"}}},
        "properties": {
          "date": {"type": "string", "format": "date"},
          "zip": {"anyOf": [{"type": "string", "pattern": "^[0-9]+$"},
                            {"type": "null"}], "default": null},
          "unit": {"allOf": [{"$ref": "#/$defs/Unit"}]},
          "set": {"$ref": "#/$defs/Node"},
          "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
          "key": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
          "any": {"type": ["string", "null"]}}}}}])j");
  ASSERT_TRUE(tools.ok()) << tools.status();
  const ChatFormat format = Learned(kParameters);
  const auto constraint = ConstraintOf(GrammarOfToolCalls(format, *tools, {}));
  ASSERT_NE(constraint, nullptr);
  const auto call = [](std::string_view name, std::string_view value) {
    return fmt::format(
        "<tool_call>\n<function=f>\n<parameter={}>\n{}\n</parameter>\n"
        "</function>\n</tool_call>",
        name, value);
  };
  const std::tuple<const char*, const char*, const char*> held[] = {
      {"date", "2024-02-29", "\"2024-02-29\""},
      {"zip", "8001", "\"8001\""},
      {"zip", "null", "null"},
      {"unit", "c", "\"c\""},
      {"set", "[\"a\", \"b\"]", "[\"a\", \"b\"]"},
      {"count", "3", "3"},
      {"count", "null", "null"},
      {"key", "3", "3"},
      {"key", "\"3\"", "\"3\""},
      {"any", "7 \"x\"", "\"7 \\\"x\\\"\""},
      {"any", "null", "null"}};
  for (const auto& [name, value, read] : held) {
    const std::string text = call(name, value);
    EXPECT_TRUE(Accepts(*constraint, text)) << text;
    const ReadMessage message = ReadChatMessage(format, *tools, false, text);
    ASSERT_EQ(message.calls.size(), 1u) << text;
    EXPECT_EQ(message.calls[0].arguments,
              fmt::format("{{\"{}\": {}}}", name, read));
  }
  for (const auto& [name, value] : {std::pair("date", "2023-02-29"),
                                    {"date", "x"},
                                    {"zip", "x"},
                                    {"unit", "d"},
                                    {"unit", "f</parameter>"},
                                    {"count", "x"},
                                    {"key", "x"},
                                    {"set", "[1]"},
                                    {"set", "null"}}) {
    EXPECT_FALSE(Accepts(*constraint, call(name, value))) << name << value;
  }
  // The items of a set differ in calls, too.
  ConstraintMatcher matcher(constraint);
  EXPECT_EQ(matcher.Walk(matcher.Start(), call("set", "[\"a\",\"a\"]")),
            ConstraintMatcher::State{});
}

TEST(ToolGrammarTest, RefusesWhatCannotBeHeld) {
  const ChatFormat parameters = Learned(kParameters);
  const auto tools = [](const char* schema) {
    return *ParseChatTools(
        std::string(R"([{"type": "function", "function": {"name": "f",
            "parameters": {"type": "object", "properties": {"a": )") +
        schema + "}}}}]");
  };
  EXPECT_THAT(GrammarOfToolCalls(parameters, tools(R"({"type": "string",
                                  "pattern": "(a)\\1"})"),
                                 {}),
              IsError(kInvalidArgument,
                      "tools[0].function.parameters: #/properties/a"));
  const auto words = ConstraintOf(GrammarOfToolCalls(
      parameters, tools(R"({"type": "string", "enum": ["x", "y z"]})"), {}));
  ASSERT_NE(words, nullptr);
  EXPECT_TRUE(Accepts(*words,
                      "<tool_call>\n<function=f>\n<parameter=a>\ny z\n"
                      "</parameter>\n</function>\n</tool_call>"));
  EXPECT_FALSE(Accepts(*words,
                       "<tool_call>\n<function=f>\n<parameter=a>\nz\n"
                       "</parameter>\n</function>\n</tool_call>"));
  EXPECT_THAT(GrammarOfToolCalls(Learned(kNoTools), Tools(), {}),
              IsError(kInvalidArgument, "tools"));
  EXPECT_THAT(GrammarOfToolCalls(parameters, Tools(), {.tool = "none"}),
              IsError(kInvalidArgument, "tool_choice"));
}

TEST(ChatToolsTest, NamesWhatIsWrong) {
  EXPECT_THAT(ParseChatTools("{"), IsError(kInvalidArgument, "tools"));
  EXPECT_THAT(ParseChatTools("{}"), IsError(kInvalidArgument, "tools"));
  EXPECT_THAT(ParseChatTools("[1]"), IsError(kInvalidArgument, "tools[0]"));
  EXPECT_THAT(
      ParseChatTools(R"([{"type": "function", "function": {"name": ""}}])"),
      IsError(kInvalidArgument, "tools[0].function.name"));
  EXPECT_THAT(ParseChatTools(R"([{"function": {"name": "a"}},
                         {"function": {"name": "a"}}])"),
              IsError(kInvalidArgument, "tools[1].function.name"));
}

// A template with parts taken out, doubled and put elsewhere.
std::string Damaged(std::string source, std::mt19937* random) {
  const auto below = [random](size_t end) { return (*random)() % (end + 1); };
  for (size_t edits = 1 + below(3); edits > 0; --edits) {
    const size_t begin = below(source.size());
    const size_t size = below(std::min<size_t>(source.size() - begin, 60));
    const std::string part = source.substr(begin, size);
    if (below(2) > 0) source.erase(begin, size);
    if (below(2) > 0) source.insert(below(source.size()), part);
  }
  return source;
}

// No template may end the server, whatever it renders.
TEST(ChatFormatTest, DamagedTemplatesAreLearnedAndRead) {
  std::mt19937 random(33);
  const std::vector<ChatTool> tools = Tools();
  int learned = 0;
  for (const Style& style : kStyles) {
    for (int i = 0; i < 100; ++i) {
      const std::string source = Damaged(style.source, &random);
      SCOPED_TRACE(source);
      const auto parsed = ChatTemplate::Parse(source);
      if (!parsed.ok()) continue;
      const ChatFormat format = ChatFormat::Learn(*parsed);
      learned += format.writes_calls();
      for (const bool thinking : {false, true}) {
        ReadChatMessage(format, tools, thinking,
                        "a <think>b</think> [TOOL_CALLS] <tool_call>\n"
                        "{\"name\": \"search\"}</tool_call>");
      }
      for (const auto calls : {AnswerGrammarOptions::Calls::kMay,
                               AnswerGrammarOptions::Calls::kMust}) {
        GrammarOfAnswer(format, tools, {.calls = calls}).IgnoreError();
      }
    }
  }
  EXPECT_GT(learned, 20);
}

}  // namespace
}  // namespace trivium

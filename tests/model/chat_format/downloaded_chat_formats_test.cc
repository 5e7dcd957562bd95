// The chat templates of published models, which are downloaded and not part of
// the repository. CTest runs this test separately and shows it as skipped
// without them. It prints a table: a template's calls and thoughts, and which
// transcripts parse back.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <set>
#include <string>

#include "model/chat_format/chat_format.h"
#include "tests/model/chat_format/transcripts.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

const char* NameOf(const ToolCallFormat& format) {
  switch (format.form) {
    case ToolCallFormat::Form::kUnknown:
      return "-";
    case ToolCallFormat::Form::kJson:
      return format.in_list       ? "JSON list"
             : format.name_is_key ? "JSON by name"
                                  : "JSON";
    case ToolCallFormat::Form::kNamedJson:
      return "name, JSON";
    case ToolCallFormat::Form::kParameters:
      return "parameters";
    case ToolCallFormat::Form::kQuoted:
      return "quoted";
    case ToolCallFormat::Form::kHarmony:
      return "harmony";
  }
  return "?";
}

std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    shown += c == '\n' ? "\\n" : c == '|' ? "¦" : std::string(1, c);
  }
  return shown;
}

TEST(DownloadedChatFormatsTest, TranscriptsParseBack) {
  const std::filesystem::path material = "../shared/material/chat_templates";
  if (!std::filesystem::exists(material)) {
    GTEST_SKIP() << "skipped: there is no folder " << material;
  }
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(material)) {
    if (entry.path().extension() == ".jinja") paths.insert(entry.path());
  }
  const std::string variables = R"({"functions": "", "datetime": ""})";
  int know_tools = 0, write_calls = 0, parse_back = 0, differences = 0;
  std::cout << "| template | tools | calls | call mark | thinking | switch | "
               "transcripts |\n|---|---|---|---|---|---|---|\n";
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.filename());
    const auto parsed = ChatTemplate::Parse(
        ReadWholeFile(path), {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const ChatFormat format =
        ChatFormat::Learn(*parsed, {.variables = variables});
    know_tools += format.knows_tools();
    write_calls += format.writes_calls();
    const ThinkingFormat& thinking = format.thinking();
    std::string results;
    bool all = true;
    int calls = 0;  // transcripts with calls that parse back
    for (const Transcript& transcript : Transcripts()) {
      if (!transcript.calls.empty() && !format.writes_calls()) continue;
      std::string with = variables;
      if (!transcript.reasoning.empty()) {
        if (!thinking.known()) continue;
        if (!thinking.variable.empty()) {
          with.insert(1,
                      "\"" + thinking.variable + "\": " + thinking.on + ", ");
        }
      }
      const auto generated = Generate(*parsed, format, transcript, with);
      if (!generated) {
        results += transcript.name + ": not rendered; ";
        continue;
      }
      const std::string difference = Compare(format, transcript, *generated);
      if (difference.empty()) {
        calls += !transcript.calls.empty();
        continue;
      }
      if (getenv("TRIVIUM_SHOW_TRANSCRIPTS") != nullptr) {
        std::cerr << path.filename() << " " << transcript.name << ": "
                  << generated->text << "\n";
      }
      results += transcript.name + ": " + Shown(difference) + "; ";
      all = false;
      ++differences;
    }
    parse_back += all && calls > 0;
    std::cout << "| " << path.stem().string() << " | "
              << (format.knows_tools() ? "yes" : "no") << " | "
              << NameOf(format.calls()) << " | " << Shown(format.CallMark())
              << " | " << Shown(thinking.begin) << " " << Shown(thinking.end)
              << " | " << thinking.variable << " | "
              << (all && calls > 0 ? "parse back; " : "") << results << "|\n";
  }
  std::cout << "of " << paths.size() << " templates " << know_tools
            << " know tools, " << write_calls << " write calls, " << parse_back
            << " of these parse back\n";
  EXPECT_EQ(paths.size(), 55u);
  EXPECT_EQ(know_tools, 45);
  EXPECT_EQ(write_calls, 43);
  // gpt-oss's template writes the content beside a call as a thought.
  EXPECT_EQ(parse_back, 42);
  EXPECT_EQ(differences, 1);
}

}  // namespace
}  // namespace trivium

// JSON Schema's own test suite, which is not part of the repository: the folder
// that TRIVIUM_JSON_SCHEMA_SUITE names, as tests/draft2020-12 of
// https://github.com/json-schema-org/JSON-Schema-Test-Suite. Each schema is
// held exactly or refused. Prints what is narrower than the schema.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"

namespace trivium {
namespace {

using nlohmann::ordered_json;

// The keyword of an error, "#/properties/a/not: ..." -> "not".
std::string KeywordOf(const absl::Status& status) {
  const std::string message(status.message());
  const std::string place = message.substr(0, message.find(": "));
  return place.substr(place.rfind('/') + 1);
}

TEST(SchemaSuiteTest, NoInvalidTextIsAccepted) {
  const char* const folder = std::getenv("TRIVIUM_JSON_SCHEMA_SUITE");
  if (folder == nullptr) {
    GTEST_SKIP() << "skipped: TRIVIUM_JSON_SCHEMA_SUITE names no folder";
  }
  JsonSchemaOptions options;
  options.any_order = true;
  int schemas = 0, right = 0, narrower = 0;
  std::map<std::string, int> refused;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    for (const ordered_json& one : ordered_json::parse(file)) {
      ++schemas;
      const std::string schema = one.at("schema").dump();
      const auto grammar = GrammarOfJsonSchema(schema, options);
      const auto automaton = grammar.ok()
                                 ? Automaton::Create(*grammar)
                                 : absl::StatusOr<Automaton>(grammar.status());
      if (!automaton.ok()) {
        ++refused[KeywordOf(automaton.status())];
        continue;
      }
      for (const ordered_json& test : one.at("tests")) {
        ParseStates states(&*automaton, 256 << 20);
        const std::string text = test.at("data").dump();
        const bool accepts =
            states.IsComplete(states.Walk(states.Start(), text));
        const bool valid = test.at("valid").get<bool>();
        EXPECT_FALSE(accepts && !valid) << schema << "\n" << text;
        if (accepts == valid) {
          ++right;
        } else if (valid) {
          ++narrower;
          std::cout << "narrower: " << schema << " " << text << "\n";
        }
      }
    }
  }
  ASSERT_GT(schemas, 0) << folder;
  int all = 0;
  for (const auto& [keyword, count] : refused) {
    std::cout << "refused: " << keyword << ", " << count << "\n";
    all += count;
  }
  std::cout << schemas << " schemas, " << all
            << " refused; of the others' texts " << right
            << " as the suite says, " << narrower
            << " valid ones not written\n";
}

}  // namespace
}  // namespace trivium

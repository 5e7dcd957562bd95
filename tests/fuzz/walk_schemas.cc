// Walks through JSON schemas for compare_schemas. A line of JSON in:
//   {"schema": text, "space": "any", "spaced" or "compact", "any_order": bool,
//    "texts": [text...], "walks": number, "most": tokens, "seed": number}
// and a line of JSON out: {"error": text} for a schema that is refused, else
//   {"accepts": [bool...], "walks": [{"text": , "ended": bool, "cut": bytes}]}
// or {"open": text} in place of a walk whose end was not found. A walk draws
// tokens of the masks until an end token, or `most` tokens. What is cut, at
// byte `cut`, is completed by few bytes. walk_schemas [VOCABULARY], a file in
// tiktoken's form.
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/grammar/automaton.h"
#include "model/grammar/constraint.h"
#include "model/grammar/frontends.h"
#include "tests/fuzz/completion.h"
#include "tests/support/vocabulary_file.h"

namespace trivium {
namespace {

using nlohmann::ordered_json;

constexpr size_t kStateBytes = size_t{1} << 30;

// All bytes, and texts that stand in JSON.
std::vector<std::string> MadeVocabulary() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  }
  for (const char* text :
       {"{\"",    "\":",     "\": ",     "\",",  "\", \"", "\"}",
        "}]",     "[[",      "]]",       "],",   "},",     "}, ",
        "[\"",    "\"]",     "null",     "true", "false",  "tru",
        "0.",     "10",      "00",       "-1",   "e+",     "\\u",
        "\\\"",   "\\n",     "abc",      "a\"",  "x\":",   "\xC3",
        "é",      "é\"",     "\xE2\x82", "\xAC", "日本",   "\xF0\x9F\x98",
        "\x80\"", "  ",      "\n  ",     "name", "id\":",  "2024-",
        "@a.",    "http://", "\\",       "\"\"", "{}"}) {
    tokens.emplace_back(text);
  }
  tokens.emplace_back();
  return tokens;
}

class Walker {
 public:
  explicit Walker(std::vector<std::string> tokens) {
    const auto end = static_cast<int32_t>(tokens.size()) - 1;
    trie_ = std::make_shared<const TokenTrie>(std::move(tokens),
                                              std::vector<int32_t>{end});
    for (int32_t id = 0; id < end; ++id) {
      const std::string& bytes = trie_->bytes(id);
      if (!bytes.empty() &&
          bytes.find_first_not_of("\"]},: ") == std::string::npos &&
          bytes.find_first_of("\"]}") != std::string::npos) {
        closing_.push_back(id);
      }
    }
  }

  ordered_json Answer(const ordered_json& line) const {
    JsonSchemaOptions options;
    const std::string space = line.value("space", "any");
    options.space = space == "compact"  ? JsonSpace::kCompact
                    : space == "spaced" ? JsonSpace::kSpaced
                                        : JsonSpace::kAny;
    options.any_order = line.value("any_order", false);
    const auto grammar =
        GrammarOfJsonSchema(line.at("schema").get<std::string>(), options);
    if (!grammar.ok()) return Error(grammar.status());
    auto automaton = Automaton::Create(*grammar);
    if (!automaton.ok()) return Error(automaton.status());
    const auto constraint =
        std::make_shared<const Constraint>(*std::move(automaton), trie_);
    ordered_json answer = {{"accepts", ordered_json::array()},
                           {"walks", ordered_json::array()}};
    if (line.contains("texts")) {
      for (const std::string text : line.at("texts")) {
        answer["accepts"].push_back(Accepts(constraint, text));
      }
    }
    std::mt19937_64 random(line.value("seed", uint64_t{0}));
    const int walks = line.value("walks", 0);
    if (walks == 0) return answer;
    Completion completion(&constraint->automaton());
    for (int i = 0; i < walks; ++i) {
      answer["walks"].push_back(
          Walk(constraint, line.value("most", 200), &completion, &random));
    }
    return answer;
  }

 private:
  static bool Accepts(const std::shared_ptr<const Constraint>& constraint,
                      const std::string& text) {
    ConstraintMatcher matcher(constraint);
    return matcher.IsComplete(matcher.Walk(matcher.Start(), text));
  }

  static ordered_json Error(const absl::Status& status) {
    return {{"error", std::string(status.message())}};
  }

  // A token of the mask. One of three is a closing one, if it may come.
  int32_t Draw(const TokenMask& mask, bool complete,
               std::mt19937_64* random) const {
    const int32_t end = trie_->end_ids()[0];
    if (complete && (*random)() % 3 == 0) return end;
    if ((*random)() % 3 == 0) {
      std::vector<int32_t> allowed;
      for (const int32_t id : closing_) {
        if (mask.Has(id)) allowed.push_back(id);
      }
      if (!allowed.empty()) return allowed[(*random)() % allowed.size()];
    }
    size_t left = (*random)() % mask.Count();
    for (int32_t id = 0;; ++id) {
      if (mask.Has(id) && left-- == 0) return id;
    }
  }

  ordered_json Walk(const std::shared_ptr<const Constraint>& constraint,
                    int most, Completion* completion,
                    std::mt19937_64* random) const {
    ConstraintMatcher matcher(constraint);
    ConstraintMatcher::State state = matcher.Start();
    std::string text;
    for (int i = 0; i < most; ++i) {
      const auto mask = matcher.Mask(state);
      if (!matcher.status().ok()) return Error(matcher.status());
      if (mask->Empty()) return {{"error", "the mask is empty: " + text}};
      const int32_t token = Draw(*mask, matcher.IsComplete(state), random);
      const auto next = matcher.Advance(state, token);
      if (!next.ok()) return Error(next.status());
      if (trie_->IsEnd(token)) {
        return {{"text", text}, {"ended", true}, {"cut", text.size()}};
      }
      text += trie_->bytes(token);
      state = *next;
    }
    ParseStates states(&constraint->automaton(), kStateBytes);
    const ParseStates::Id at = states.Walk(states.Start(), text);
    const std::string rest = completion->After(at, &states);
    // The end that was found may have items again that must differ.
    if (!Accepts(constraint, text + rest)) return {{"open", text}};
    return {{"text", text + rest}, {"ended", false}, {"cut", text.size()}};
  }

  std::shared_ptr<const TokenTrie> trie_;
  std::vector<int32_t> closing_;  // tokens that close strings, lists, objects
};

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  std::vector<std::string> tokens;
  if (argc > 1) {
    auto read = trivium::ReadVocabularyFile(argv[1]);
    if (!read.ok()) {
      std::cerr << read.status() << "\n";
      return 1;
    }
    tokens = *std::move(read);
  } else {
    tokens = trivium::MadeVocabulary();
  }
  const trivium::Walker walker(std::move(tokens));
  for (std::string line; std::getline(std::cin, line);) {
    // Error texts may have parts of characters.
    std::cout << walker.Answer(nlohmann::ordered_json::parse(line))
                     .dump(-1, ' ', false,
                           nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
  }
}

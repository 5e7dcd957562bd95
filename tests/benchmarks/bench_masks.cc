// trivium-bench-masks: how fast masks of tokens are made, as JSON.
// compare_masks.py runs it beside others. Reads cases of the standard input:
//   {"schema": text, "texts": [[token id...]...]}
// a line each, and answers each with a line:
//   {"compile": s, "first": s, "masks": [s...], "advances": [s...]}
// compile: from the schema's text to a matcher; first: from there to the first
// mask. A text is walked through with a new matcher; an id of -1 is the end.
// With --bits FILE, all masks are appended to the file, a bit a token.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/grammar/automaton.h"
#include "model/grammar/constraint.h"
#include "model/grammar/frontends.h"
#include "tests/benchmarks/cpu_seconds.h"
#include "tests/support/vocabulary_file.h"

namespace trivium {
namespace {

using nlohmann::ordered_json;

class Bench {
 public:
  Bench(std::vector<std::string> tokens, const std::string& bits) {
    end_ = static_cast<int32_t>(tokens.size()) - 1;
    trie_ = std::make_shared<const TokenTrie>(std::move(tokens),
                                              std::vector<int32_t>{end_});
    if (!bits.empty()) bits_.open(bits, std::ios::binary | std::ios::app);
  }

  absl::StatusOr<ordered_json> Run(const ordered_json& line) {
    const auto schema = line.at("schema").get<std::string>();
    const double start = CpuSeconds();
    TRIVIUM_ASSIGN_OR_RETURN(const Grammar grammar,
                             GrammarOfJsonSchema(schema));
    TRIVIUM_ASSIGN_OR_RETURN(Automaton automaton, Automaton::Create(grammar));
    const auto constraint =
        std::make_shared<const Constraint>(std::move(automaton), trie_);
    auto matcher = std::make_unique<ConstraintMatcher>(constraint);
    const double compile = CpuSeconds() - start;
    const double compiled = CpuSeconds();
    matcher->Mask(matcher->Start());
    const double first = CpuSeconds() - compiled;
    std::vector<double> masks, advances;
    for (const ordered_json& text : line.at("texts")) {
      matcher = std::make_unique<ConstraintMatcher>(constraint);
      ConstraintMatcher::State state = matcher->Start();
      for (const int32_t id : text) {
        const double before = CpuSeconds();
        const auto mask = matcher->Mask(state);
        masks.push_back(CpuSeconds() - before);
        if (bits_.is_open()) {
          const auto words = mask->words();
          bits_.write(reinterpret_cast<const char*>(words.data()),
                      static_cast<std::streamsize>(words.size_bytes()));
        }
        const double chosen = CpuSeconds();
        TRIVIUM_ASSIGN_OR_RETURN(state,
                                 matcher->Advance(state, id < 0 ? end_ : id));
        advances.push_back(CpuSeconds() - chosen);
      }
    }
    bits_.flush();
    return ordered_json{{"compile", compile},
                        {"first", first},
                        {"masks", masks},
                        {"advances", advances}};
  }

 private:
  int32_t end_;
  std::shared_ptr<const TokenTrie> trie_;
  std::ofstream bits_;
};

absl::Status Run(const std::string& vocabulary, const std::string& bits) {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<std::string> tokens,
                           ReadVocabularyFile(vocabulary));
  Bench bench(std::move(tokens), bits);
  for (std::string line; std::getline(std::cin, line);) {
    TRIVIUM_ASSIGN_OR_RETURN(const ordered_json answer,
                             bench.Run(ordered_json::parse(line)));
    std::cout << answer.dump() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  CLI::App app("Measures masks of tokens.");
  std::string vocabulary, bits;
  app.add_option("vocabulary", vocabulary, "in tiktoken's form")->required();
  app.add_option("--bits", bits, "file for the masks");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = trivium::Run(vocabulary, bits);
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}

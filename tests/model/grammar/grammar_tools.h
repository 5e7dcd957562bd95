#ifndef TRIVIUM_TESTS_MODEL_GRAMMAR_GRAMMAR_TOOLS_H_
#define TRIVIUM_TESTS_MODEL_GRAMMAR_GRAMMAR_TOOLS_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/grammar/automaton.h"
#include "model/grammar/constraint.h"
#include "model/grammar/grammar.h"
#include "model/grammar/parse_states.h"

namespace trivium {

// The end token of the vocabularies below.
inline constexpr int32_t kEndToken = 0;

// All 256 bytes and `texts`; token 0 ends a text.
inline std::shared_ptr<const TokenTrie> ByteVocabulary(
    std::vector<std::string> texts = {}) {
  std::vector<std::string> tokens = {""};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  }
  tokens.insert(tokens.end(), texts.begin(), texts.end());
  return std::make_shared<TokenTrie>(std::move(tokens),
                                     std::vector<int32_t>{kEndToken});
}

inline std::shared_ptr<const Constraint> ConstraintOf(
    const absl::StatusOr<Grammar>& grammar,
    std::shared_ptr<const TokenTrie> trie = ByteVocabulary()) {
  EXPECT_TRUE(grammar.ok()) << grammar.status();
  if (!grammar.ok()) return nullptr;
  auto automaton = Automaton::Create(*grammar);
  EXPECT_TRUE(automaton.ok()) << automaton.status();
  if (!automaton.ok()) return nullptr;
  return std::make_shared<Constraint>(*std::move(automaton), std::move(trie));
}

// True if the automaton's bytes can be `text`, complete.
inline bool Accepts(const Automaton& automaton, std::string_view text) {
  ParseStates states(&automaton, 256 << 20);
  return states.IsComplete(states.Walk(states.Start(), text));
}
inline bool Accepts(const Constraint& constraint, std::string_view text) {
  return Accepts(constraint.automaton(), text);
}

// Chooses tokens of the masks until an end token. Prefers one that ends the
// text after `most` tokens; nothing if even then the text does not end.
inline std::optional<std::string> RandomText(
    std::shared_ptr<const Constraint> constraint, std::mt19937_64* random,
    int most) {
  ConstraintMatcher matcher(constraint);
  ConstraintMatcher::State state = matcher.Start();
  std::string text;
  for (int i = 0; i < 4 * most + 4096; ++i) {
    const auto mask = matcher.Mask(state);
    EXPECT_TRUE(matcher.status().ok()) << matcher.status();
    std::vector<int32_t> allowed;
    for (size_t token = 0; token < constraint->trie().tokens(); ++token) {
      if (mask->Has(static_cast<int32_t>(token))) {
        allowed.push_back(static_cast<int32_t>(token));
      }
    }
    EXPECT_FALSE(allowed.empty()) << "nothing may follow: " << text;
    if (allowed.empty()) return std::nullopt;
    int32_t token = allowed[(*random)() % allowed.size()];
    // Late, the closing signs of JSON lead to an end.
    if (i >= most) {
      for (const int32_t candidate : allowed) {
        const std::string& bytes = constraint->trie().bytes(candidate);
        if (bytes == "\"" || bytes == "]" || bytes == "}") token = candidate;
      }
      if (matcher.IsComplete(state)) token = kEndToken;
    }
    const auto next = matcher.Advance(state, token);
    EXPECT_TRUE(next.ok()) << next.status();
    if (!next.ok()) return std::nullopt;
    if (token == kEndToken) return text;
    text += constraint->trie().bytes(token);
    state = *next;
  }
  return std::nullopt;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_GRAMMAR_GRAMMAR_TOOLS_H_

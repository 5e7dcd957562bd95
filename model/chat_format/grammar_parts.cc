#include "model/chat_format/grammar_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trivium {

namespace {

// Copies expressions; each once, so that the copy is no larger.
class GrammarCopy {
 public:
  GrammarCopy(const Grammar& part, Grammar* grammar)
      : part_(part), grammar_(*grammar) {}

  ExpressionId Copy() {
    for (size_t i = 0; i < part_.rules(); ++i) {
      rules_.push_back(grammar_.AddRule());
    }
    for (size_t i = 0; i < part_.rules(); ++i) {
      const ExpressionId definition = part_.definition(static_cast<RuleId>(i));
      if (definition >= 0) grammar_.Define(rules_[i], CopyOf(definition));
    }
    return grammar_.Rule(rules_[part_.root()]);
  }

 private:
  ExpressionId CopyOf(ExpressionId id) {
    if (const auto found = copies_.find(id); found != copies_.end()) {
      return found->second;
    }
    const ExpressionId copy = MakeCopy(part_.expression(id));
    copies_.emplace(id, copy);
    return copy;
  }

  ExpressionId MakeCopy(const Expression& expression) {
    std::vector<ExpressionId> parts;
    for (const ExpressionId part : expression.parts) {
      parts.push_back(CopyOf(part));
    }
    switch (expression.kind) {
      case Expression::Kind::kBytes:
        return grammar_.Bytes(expression.low, expression.high);
      case Expression::Kind::kLiteral:
        return grammar_.Literal(expression.text);
      case Expression::Kind::kSequence:
        return grammar_.Sequence(std::move(parts));
      case Expression::Kind::kChoice:
        return grammar_.Choice(std::move(parts));
      case Expression::Kind::kRepeat:
        return grammar_.Repeat(parts[0], expression.min, expression.max);
      case Expression::Kind::kRule:
        return grammar_.Rule(rules_[expression.index]);
      case Expression::Kind::kGraph:
        break;
    }
    ExpressionGraph graph = part_.graph(expression.index);
    for (ExpressionGraph::Edge& edge : graph.edges) {
      if (edge.label != ExpressionGraph::kNoLabel) {
        edge.label = CopyOf(edge.label);
      }
    }
    return grammar_.Graph(std::move(graph));
  }

  const Grammar& part_;
  Grammar& grammar_;
  std::vector<RuleId> rules_;  // by those of part_
  std::map<ExpressionId, ExpressionId> copies_;
};

// A place in a character of UTF-8 (RFC 3629): the range of the next
// byte and how many follow it.
struct CharacterState {
  uint8_t low = 0, high = 0;  // of the next byte; 0, 0 at a character's begin
  uint8_t rest = 0;           // bytes behind the next

  bool operator<(const CharacterState& other) const {
    return std::pair(low, rest) < std::pair(other.low, other.rest) ||
           (low == other.low && rest == other.rest && high < other.high);
  }
};

std::optional<CharacterState> Next(const CharacterState& state, uint8_t byte) {
  if (state.high != 0) {
    if (byte < state.low || byte > state.high) return std::nullopt;
    if (state.rest == 0) return CharacterState{};
    return CharacterState{0x80, 0xBF, static_cast<uint8_t>(state.rest - 1)};
  }
  if (byte == 0) return std::nullopt;
  if (byte < 0x80) return CharacterState{};
  if (byte < 0xC2) return std::nullopt;
  if (byte < 0xE0) return CharacterState{0x80, 0xBF, 0};
  if (byte == 0xE0) return CharacterState{0xA0, 0xBF, 1};
  if (byte == 0xED) return CharacterState{0x80, 0x9F, 1};
  if (byte < 0xF0) return CharacterState{0x80, 0xBF, 1};
  if (byte == 0xF0) return CharacterState{0x90, 0xBF, 2};
  if (byte < 0xF4) return CharacterState{0x80, 0xBF, 2};
  if (byte == 0xF4) return CharacterState{0x80, 0x8F, 2};
  return std::nullopt;
}

}  // namespace

ExpressionId AddGrammar(const Grammar& part, Grammar* grammar) {
  return GrammarCopy(part, grammar).Copy();
}

// The automaton of Knuth, Morris and Pratt ("Fast Pattern Matching in Strings",
// 1977), whose state is the number of bytes of the mark that the text ends
// with, times the states of a character.
ExpressionId TextUpTo(std::string_view mark, Grammar* grammar) {
  const auto next_match = [mark](size_t matched, char byte) {
    std::string text(mark.substr(0, matched));
    text.push_back(byte);
    size_t size = std::min(text.size(), mark.size());
    while (!std::string_view(text).ends_with(mark.substr(0, size))) --size;
    return size;
  };
  using State = std::pair<size_t, CharacterState>;
  ExpressionGraph graph;
  std::map<State, int32_t> nodes;
  std::vector<State> open;
  const auto node_of = [&](const State& state) {
    const auto [found, is_new] = nodes.try_emplace(state, 0);
    if (is_new) {
      found->second = graph.AddNode();
      if (state.first == mark.size()) {
        graph.final[found->second] = true;
      } else {
        open.push_back(state);
      }
    }
    return found->second;
  };
  node_of({0, {}});
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    const int32_t from = nodes[state];
    // Neighbouring bytes that lead to one state are one edge.
    int32_t to = -1;
    int low = 0;
    for (int byte = 0; byte <= 256; ++byte) {
      int32_t target = -1;
      if (byte < 256) {
        if (const auto next = Next(state.second, static_cast<uint8_t>(byte))) {
          target = node_of(
              {next_match(state.first, static_cast<char>(byte)), *next});
        }
      }
      if (target == to) continue;
      if (to >= 0) {
        graph.edges.push_back({from, to,
                               grammar->Bytes(static_cast<uint8_t>(low),
                                              static_cast<uint8_t>(byte - 1))});
      }
      to = target;
      low = byte;
    }
  }
  return grammar->Graph(std::move(graph));
}

}  // namespace trivium

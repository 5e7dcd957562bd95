#include "model/chat_format/grammar_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/chat_format/text_units.h"

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
    for (const RuleId rule : part_.unique()) grammar_.SetUnique(rules_[rule]);
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
    return grammar_.Graph(std::move(graph), expression.max);
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

// The automaton of Aho and Corasick ("Efficient String Matching", 1975) for the
// marks of each mode: a state is the longest beginning of a mark that the text
// ends with, times the states of a character.
class ModesGraph {
 public:
  ModesGraph(const std::vector<TextMode>& modes, Grammar* grammar)
      : modes_(modes), grammar_(*grammar) {}

  ExpressionId Make(int first) {
    NodeOf({first, "", {}});
    while (!open_.empty()) {
      const State state = std::move(open_.back());
      open_.pop_back();
      AddEdges(state);
    }
    return grammar_.Graph(std::move(graph_));
  }

 private:
  using Kind = TextMode::Kind;
  struct State {
    int mode;
    std::string held;  // the beginning of a mark that may be under way
    CharacterState character;

    bool operator<(const State& other) const {
      return std::tie(mode, held, character) <
             std::tie(other.mode, other.held, other.character);
    }
  };

  int32_t NodeOf(const State& state) {
    const auto [found, is_new] = nodes_.try_emplace(state, 0);
    if (!is_new) return found->second;
    const TextMode& mode = modes_[state.mode];
    const int32_t node = found->second = graph_.AddNode();
    const bool whole = state.character.high == 0;
    if (mode.may_end && whole) graph_.final[node] = true;
    if (mode.then != ExpressionGraph::kNoLabel && state.held.empty() && whole) {
      const int32_t end = graph_.AddNode();
      graph_.final[end] = true;
      graph_.edges.push_back({node, end, mode.then});
    }
    if (mode.kind != Kind::kEnd) open_.push_back(state);
    return node;
  }

  // Neighbouring bytes that lead to one state are one edge.
  void AddEdges(const State& state) {
    const int32_t from = nodes_[state];
    int32_t to = -1;
    int low = 0;
    for (int byte = 0; byte <= 256; ++byte) {
      int32_t target = -1;
      if (byte < 256) {
        const auto next = Next(state, static_cast<uint8_t>(byte));
        if (next) target = NodeOf(*next);
      }
      if (target == to) continue;
      if (to >= 0) {
        graph_.edges.push_back(
            {from, to,
             grammar_.Bytes(static_cast<uint8_t>(low),
                            static_cast<uint8_t>(byte - 1))});
      }
      to = target;
      low = byte;
    }
  }

  std::optional<State> Next(const State& state, uint8_t byte) const {
    const auto character = trivium::Next(state.character, byte);
    if (!character) return std::nullopt;
    std::string text = state.held + static_cast<char>(byte);
    if (modes_[state.mode].kind == Kind::kText) {
      return After(state.mode, text, *character);
    }
    if (text.size() == 1 && IsSpace(text[0])) return state;
    if (auto next = AtMark(state.mode, text, *character)) return *next;
    // The text's first byte belongs to no mark; a mark may begin behind it.
    return After(modes_[state.mode].otherwise, text.substr(1), *character);
  }

  // The state behind `text`, of which marks may begin anywhere.
  std::optional<State> After(int mode, std::string_view text,
                             CharacterState character) const {
    while (true) {
      if (auto next = AtMark(mode, text, character)) return *next;
      if (text.empty()) return State{mode, "", character};
      text.remove_prefix(1);
    }
  }

  // The state behind a mark or its beginning, if `text` is one; a mark that the
  // text may not have leads to none.
  std::optional<std::optional<State>> AtMark(int mode, std::string_view text,
                                             CharacterState character) const {
    if (text.empty()) return std::nullopt;
    for (const TextMode::Mark& mark : modes_[mode].marks) {
      if (mark.text != text) continue;
      if (mark.next == TextMode::kNever) return std::optional<State>();
      return State{mark.next, "", character};
    }
    for (const TextMode::Mark& mark : modes_[mode].marks) {
      if (!mark.text.starts_with(text)) continue;
      return State{mode, std::string(text), character};
    }
    return std::nullopt;
  }

  const std::vector<TextMode>& modes_;
  Grammar& grammar_;
  ExpressionGraph graph_;
  std::map<State, int32_t> nodes_;
  std::vector<State> open_;  // without edges yet
};

}  // namespace

ExpressionId AddGrammar(const Grammar& part, Grammar* grammar) {
  return GrammarCopy(part, grammar).Copy();
}

ExpressionId TextUpTo(std::string_view mark, Grammar* grammar) {
  TextMode text{.kind = TextMode::Kind::kText};
  text.marks.push_back({std::string(mark), 1});
  return TextInModes({text, {.may_end = true}}, 0, grammar);
}

ExpressionId TextInModes(const std::vector<TextMode>& modes, int first,
                         Grammar* grammar) {
  return ModesGraph(modes, grammar).Make(first);
}

}  // namespace trivium

#ifndef TRIVIUM_TESTS_MODEL_GRAMMAR_SLOW_GRAMMAR_H_
#define TRIVIUM_TESTS_MODEL_GRAMMAR_SLOW_GRAMMAR_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/grammar/grammar.h"

namespace trivium {

// Reads a text by a Grammar's expressions themselves, without an automaton: the
// slow, obvious counterpart of model/grammar/. For each expression and place it
// computes the places where the expression may end, and whether the text may
// run out inside of it, again and again until nothing changes.
class SlowGrammar {
 public:
  explicit SlowGrammar(const Grammar* grammar);

  bool Accepts(std::string_view text);
  // True if some text that begins with `text` is accepted.
  bool IsPrefix(std::string_view text);

 private:
  struct Reading {
    std::set<size_t> ends;
    bool open = false;  // may go on beyond the text
    bool operator==(const Reading&) const = default;
  };
  Reading Read(ExpressionId id, size_t at);
  Reading ReadParts(const std::vector<ExpressionId>& parts, size_t at);
  Reading ReadRepeat(const Expression& repeat, size_t at);
  Reading ReadGraph(const ExpressionGraph& graph, int32_t max, size_t at);
  bool HasString(ExpressionId id) const;
  void Solve(std::string_view text);

  const Grammar& grammar_;
  std::vector<bool> productive_;  // [rules]
  std::string_view text_;
  std::map<std::pair<RuleId, size_t>, Reading> rules_;  // what is known so far
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_GRAMMAR_SLOW_GRAMMAR_H_

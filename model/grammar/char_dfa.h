#ifndef TRIVIUM_MODEL_GRAMMAR_CHAR_DFA_H_
#define TRIVIUM_MODEL_GRAMMAR_CHAR_DFA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/grammar/code_points.h"
#include "model/grammar/grammar.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// A set of texts as a deterministic automaton over characters. It is what
// several conditions on one text are joined by: a pattern, a format, a length,
// names that are taken.
//
// Each operation takes steps of a budget while it goes on. It is
// RESOURCE_EXHAUSTED if they do not suffice, or if it needs more than
// kMostStates.
class CharDfa {
 public:
  static constexpr size_t kMostStates = 20'000;

  // INVALID_ARGUMENT for an assertion at a place where it cannot be followed.
  static absl::StatusOr<CharDfa> Create(const RegexNode& expression,
                                        WorkBudget* work);
  // Any text of min .. max characters; max < 0: without limit.
  static absl::StatusOr<CharDfa> OfLength(int64_t min, int64_t max,
                                          WorkBudget* work);
  // Exactly these texts, which are well-formed UTF-8.
  static absl::StatusOr<CharDfa> OfTexts(std::span<const std::string> texts,
                                         WorkBudget* work);
  // Decimals that are multiples of `divisor` / 10^places, with at most `places`
  // digits behind the point, a sign if they are negative, and no leading zeros.
  // divisor >= 1.
  static absl::StatusOr<CharDfa> MultiplesOf(int64_t divisor, int places,
                                             WorkBudget* work);
  // Decimals without sign, exponent and leading zeros, of at most `digits`
  // digits; a zero before the point is not one of them.
  static CharDfa Decimals(size_t digits);

  absl::StatusOr<CharDfa> Intersection(const CharDfa& other,
                                       WorkBudget* work) const;
  // This one's texts, and those of `other` behind `prefix`, a character with
  // which none of this one's begins.
  CharDfa UnionWithPrefix(char32_t prefix, const CharDfa& other) const;
  // All other texts.
  absl::StatusOr<CharDfa> Complement(WorkBudget* work) const;

  size_t size() const { return states_.size(); }  // of states
  // True if there is no text.
  bool empty() const;
  // The length of the shortest text, of which there is one.
  int64_t Shortest() const;
  // The length of the longest text; nothing if there is none.
  std::optional<int64_t> Longest() const;
  // The number of texts, or a great one that is less.
  int64_t Count() const;
  bool Matches(std::string_view text) const;
  // The texts, with max >= 0 those of at most `max` characters.
  ExpressionId ToExpression(const CharacterEncoder& encode, Grammar* grammar,
                            int32_t max = -1) const;

 private:
  friend class AssertionDfa;
  struct Edge {
    char32_t first, last;
    uint32_t target;
  };
  struct State {
    std::vector<Edge> edges;  // ascending, disjoint
    bool accepts = false;
  };
  // The steps of a pass over all states.
  size_t Steps() const;
  // Removes states from which no text can be completed.
  void Trim();

  std::vector<State> states_;  // [0] is the start
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_CHAR_DFA_H_

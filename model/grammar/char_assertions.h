#ifndef TRIVIUM_MODEL_GRAMMAR_CHAR_ASSERTIONS_H_
#define TRIVIUM_MODEL_GRAMMAR_CHAR_ASSERTIONS_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/grammar/char_dfa.h"
#include "model/grammar/char_nfa.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// Makes the automaton of an expression with assertions: ^, $, look-aheads and
// look-behinds anywhere in it.
//
// What an assertion asks for is an automaton, too. A look-ahead's reads the
// rest of the text, from its place to the end; all that were passed must accept
// it. A look-behind's reads the text from its beginning, and accepts or does
// not at each place. So a state of the result is
// - a set of places: a state of the expression's automaton with the look-aheads
//   that were passed on the way there, each in a state of its own,
// - and the state of each look-behind.
class AssertionDfa {
 public:
  // `expression` and `work` outlive this.
  AssertionDfa(const RegexNode& expression, WorkBudget* work)
      : AssertionDfa(expression, Part::kWhole, work) {}

  // INVALID_ARGUMENT if an assertion stands where its automaton would have to
  // know more than it reads: a look-behind in a look-ahead behind the text's
  // beginning, a look-ahead in a look-behind.
  absl::StatusOr<CharDfa> Make();

 private:
  // The part of a text that an automaton reads: all of it, from some place to
  // the end, or from the beginning to some place.
  enum class Part { kWhole, kRest, kBefore };
  // An automaton of the rest of a text.
  struct Rest {
    CharDfa texts;
    std::vector<bool> any;  // [state] all texts are accepted from there
  };
  // The rests of a text that must be accepted: index in rests_, state. Sorted.
  using Needs = std::vector<std::pair<uint32_t, uint32_t>>;
  // A state of the expression's automaton, and the number of its Needs.
  using Place = std::pair<uint32_t, uint32_t>;
  struct Places {
    std::vector<Place> places;     // sorted
    std::vector<uint32_t> before;  // [befores_] states; kNowhere: no match
    auto operator<=>(const Places&) const = default;
  };
  static constexpr uint32_t kNowhere = ~uint32_t{0};

  AssertionDfa(const RegexNode& expression, Part part, WorkBudget* work);

  absl::Status MakeBefores();
  // Index in rests_ of what a look-ahead or $ asks for.
  absl::StatusOr<uint32_t> RestOf(const RegexNode& assertion, bool at_begin);
  // Adds the places that are reached without reading.
  absl::Status Close(bool at_begin, Places* places);
  // Removes places that ask for more than another one.
  void Simplify(std::vector<Place>* places) const;
  absl::StatusOr<Places> Step(const Places& places, char32_t character);
  uint32_t NumberOf(Needs needs);
  bool Accepts(const Places& places) const;
  // The characters at which the places' edges begin or have ended. Sorted.
  std::vector<char32_t> Borders(const Places& places) const;
  static uint32_t Next(const CharDfa& dfa, uint32_t state, char32_t character);

  const Part part_;
  WorkBudget* const work_;
  const CharNfa nfa_;
  // By assertion, and whether it stands at the text's beginning.
  std::map<std::pair<const RegexNode*, bool>, uint32_t> rest_of_;
  std::vector<Rest> rests_;
  std::map<const RegexNode*, size_t> before_of_;
  std::vector<CharDfa> befores_;
  std::vector<Needs> needs_ = {{}};  // by number
  std::map<Needs, uint32_t> numbers_ = {{{}, 0}};
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_CHAR_ASSERTIONS_H_

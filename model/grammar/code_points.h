#ifndef TRIVIUM_MODEL_GRAMMAR_CODE_POINTS_H_
#define TRIVIUM_MODEL_GRAMMAR_CODE_POINTS_H_

#include <utility>
#include <vector>

#include "model/grammar/grammar.h"

namespace trivium {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// A set of Unicode's scalar values (code points that are no surrogates).
class CodePointSet {
 public:
  using Range = std::pair<char32_t, char32_t>;  // first, last

  CodePointSet() = default;
  explicit CodePointSet(std::vector<Range> ranges);
  static CodePointSet All();

  CodePointSet Intersection(const CodePointSet& other) const;
  CodePointSet Complement() const;
  bool Has(char32_t code_point) const;
  bool empty() const { return ranges_.empty(); }
  // Ascending, disjoint, not adjacent.
  const std::vector<Range>& ranges() const { return ranges_; }
  auto operator<=>(const CodePointSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

// Returns the UTF-8 of one character of the set.
ExpressionId Utf8Expression(const CodePointSet& set, Grammar* grammar);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_CODE_POINTS_H_

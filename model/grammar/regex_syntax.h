#ifndef TRIVIUM_MODEL_GRAMMAR_REGEX_SYNTAX_H_
#define TRIVIUM_MODEL_GRAMMAR_REGEX_SYNTAX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/grammar/code_points.h"
#include "model/grammar/grammar.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// A regular expression, parsed.
struct RegexNode {
  enum class Kind : uint8_t {
    kCharacter,  // one of `set`
    kSequence,
    kChoice,
    kRepeat,     // parts[0], min .. max times; max < 0: without limit
    kBegin,      // ^
    kEnd,        // $
    kAhead,      // (?=parts[0])
    kNotAhead,   // (?!parts[0])
    kBehind,     // (?<=parts[0])
    kNotBehind,  // (?<!parts[0])
  };
  Kind kind = Kind::kSequence;
  CodePointSet set;
  std::vector<RegexNode> parts;
  int32_t min = 0, max = 0;
  size_t at = 0;  // the byte of an assertion

  // Wherever they stand.
  bool operator==(const RegexNode& other) const;
};

// True for what reads nothing: kBegin and those after it.
inline bool IsAssertion(const RegexNode& node) {
  return node.kind >= RegexNode::Kind::kBegin;
}
// True if the expression or a part of it is an assertion.
bool HasAssertions(const RegexNode& node);
// Any number of any characters.
RegexNode AnyText();
// Exactly the text, which is UTF-8.
RegexNode RegexOfText(std::string_view text);

// The dialects differ in `.`, `\s` and in what `\d \w \s` leave to `\D \W \S`.
enum class RegexDialect {
  kRe2,         // RE2 and Go
  kEcmaScript,  // JSON schema, with the flag "u"
};

// Parses an expression that matches whole texts or, with `search`, texts that
// contain a match: then ^ and $ say where it begins and ends.
//
// The syntax is what RE2 and ECMAScript share: characters, `.`, classes
// [a-z] [^a-z] [[:digit:]], \d \w \s and their complements, \p{L} and \P{L}
// of Unicode's properties, \n \t \r \f \v \0 \cJ \xHH \x{H...} \uHHHH
// \u{H...}, groups (...) (?:...) (?P<name>...) (?<name>...), alternatives,
// * + ? {n} {n,} {n,m}; flags (?i) and (?s) at the beginning, (?i:...) and
// (?s:...). A lazy `?` after a repetition changes no match of a whole text and
// is accepted. The assertions ^ $ \b \B (?=...) (?!...) (?<=...) (?<!...) may
// stand anywhere. INVALID_ARGUMENT tells the byte and what is not known:
// references, atomic groups, other flags. RESOURCE_EXHAUSTED if `work` does not
// suffice.
//
// Assertions are left in the result where they are no ends of alternatives:
// then only CharDfa knows its texts.
absl::StatusOr<RegexNode> ParseRegex(std::string_view text,
                                     RegexDialect dialect, bool search,
                                     WorkBudget* work);

// Writes the character sets of an expression in some encoding.
using CharacterEncoder = std::function<ExpressionId(const CodePointSet& set)>;

// Returns the texts that the expression, which has no assertions, matches.
ExpressionId RegexExpression(const RegexNode& node,
                             const CharacterEncoder& encode, Grammar* grammar);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_REGEX_SYNTAX_H_

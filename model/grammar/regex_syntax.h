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

namespace trivium {

// A regular expression, parsed.
struct RegexNode {
  enum class Kind : uint8_t {
    kCharacter,  // one of `set`
    kSequence,
    kChoice,
    kRepeat,    // parts[0], min .. max times; max < 0: without limit
    kBegin,     // ^
    kEnd,       // $
    kAhead,     // (?=parts[0])
    kNotAhead,  // (?!parts[0])
  };
  Kind kind = Kind::kSequence;
  CodePointSet set;
  std::vector<RegexNode> parts;
  int32_t min = 0, max = 0;
  size_t at = 0;  // the byte of ^, $ or a look-ahead
};

// The dialects differ in `.`, `\s` and in what `\d \w \s` leave to `\D \W \S`.
enum class RegexDialect {
  kRe2,         // RE2 and Go
  kEcmaScript,  // JSON schema, with the flag "u"
};

// Parses an expression that matches whole texts or, with `search`, texts that
// contain a match: then ^ and $ say where it begins and ends.
//
// The syntax is what RE2 and ECMAScript share: characters, `.`, classes
// [a-z] [^a-z] [[:digit:]], \d \w \s and their complements, \n \t \r \f \v \0
// \xHH \x{H...} \uHHHH \u{H...}, groups (...) (?:...) (?P<name>...)
// (?<name>...), alternatives, * + ? {n} {n,} {n,m}, ^ and $ at the ends.
// A lazy `?` after a repetition changes no match of a whole text and is
// accepted. INVALID_ARGUMENT tells the byte and what is not known: look-around,
// references, \b, flags, \p.
//
// With `ahead`, which needs `search`, ^ may be followed by look-aheads at the
// beginning of the whole expression: a text must match these, too.
struct LookAhead {
  RegexNode texts;  // whole texts
  bool negative;    // the text must not be one of them
};
absl::StatusOr<RegexNode> ParseRegex(std::string_view text,
                                     RegexDialect dialect, bool search,
                                     std::vector<LookAhead>* ahead = nullptr);

// Writes the character sets of an expression in some encoding.
using CharacterEncoder = std::function<ExpressionId(const CodePointSet& set)>;

// Returns the texts that the expression matches. It has only
// characters, sequences, choices and repetitions left.
ExpressionId RegexExpression(const RegexNode& node,
                             const CharacterEncoder& encode, Grammar* grammar);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_REGEX_SYNTAX_H_

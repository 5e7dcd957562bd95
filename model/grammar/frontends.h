#ifndef TRIVIUM_MODEL_GRAMMAR_FRONTENDS_H_
#define TRIVIUM_MODEL_GRAMMAR_FRONTENDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/grammar/grammar.h"

namespace trivium {

// The notations in which a constraint is given. Each function returns a
// grammar, INVALID_ARGUMENT for what is wrong or not supported, or
// RESOURCE_EXHAUSTED for what is larger than the limits.

// Texts that the whole expression matches; ParseRegex has the syntax.
absl::StatusOr<Grammar> GrammarOfRegex(std::string_view expression,
                                       const GrammarLimits& limits = {});

// One of the texts. An error names choices[i].
absl::StatusOr<Grammar> GrammarOfChoices(std::span<const std::string> choices,
                                         const GrammarLimits& limits = {});

// A GBNF text as llama.cpp reads it: rules `name ::= ...`, of which `root` is
// the whole; "literals", [classes], `.`, (groups), alternatives, * + ? {n}
// {n,} {n,m}, # comments. Rules may be recursive on the left, too. References
// to tokens (<...>) and a repetition right behind another are refused. An error
// names line and column.
absl::StatusOr<Grammar> GrammarOfGbnf(std::string_view text,
                                      const GrammarLimits& limits = {});

// White space between the parts of a JSON text.
enum class JsonSpace : uint8_t {
  kCompact,  // none: {"a":[1,2]}
  kSpaced,   // as Python's json.dumps: {"a": [1, 2]}
  kAny,      // up to 32 blanks, tabs and line ends between any two parts
};

struct JsonSchemaOptions {
  JsonSpace space = JsonSpace::kAny;
  // Properties in any order, of which an object may then name at most
  // kMostFreeProperties; else as the schema declares them.
  bool any_order = false;
  bool operator==(const JsonSchemaOptions&) const = default;
};
inline constexpr int kMostFreeProperties = 10;

// JSON texts that the schema accepts (docs/constraints.md lists the keywords).
// An error begins with the JSON pointer of the keyword:
// "#/properties/a/not: ...".
absl::StatusOr<Grammar> GrammarOfJsonSchema(
    std::string_view schema, const JsonSchemaOptions& options = {},
    const GrammarLimits& limits = {}, const AliveCheck& check_alive = {});

// The strings that the schema accepts, as bare texts: without quotation marks
// and escapes. None of them has `without` in it, which is not empty. Other
// values that the schema accepts are left out.
absl::StatusOr<Grammar> GrammarOfBareStrings(
    std::string_view schema, std::string_view without,
    const GrammarLimits& limits = {}, const AliveCheck& check_alive = {});

// Any JSON object: OpenAI's json_object.
absl::StatusOr<Grammar> GrammarOfJsonObject(
    const JsonSchemaOptions& options = {}, const GrammarLimits& limits = {});

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_FRONTENDS_H_

#ifndef TRIVIUM_MODEL_GRAMMAR_SCHEMA_COMPILER_H_
#define TRIVIUM_MODEL_GRAMMAR_SCHEMA_COMPILER_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/grammar/char_dfa.h"
#include "model/grammar/frontends.h"
#include "model/grammar/grammar.h"
#include "model/grammar/json_text.h"
#include "model/grammar/number_range.h"
#include "model/grammar/schema_document.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// Bounds of integers have at most 18 digits.
inline constexpr double kGreatestInteger = 1e18;

// Turns one JSON schema into a grammar. Schemas that are referred to become
// rules; they are compiled one after the other, so references may be deep.
class SchemaCompiler {
 public:
  // `root` and `work` outlive this.
  SchemaCompiler(const Schema* root, const JsonSchemaOptions& options,
                 const GrammarLimits& limits, WorkBudget* work);

  absl::StatusOr<Grammar> Compile();
  // GrammarOfBareStrings.
  absl::StatusOr<Grammar> CompileBareStrings(std::string_view without);

 private:
  absl::StatusOr<ExpressionId> BareStrings(const Schema& schema,
                                           const std::string& pointer,
                                           std::string_view without, int depth);
  // The schema's JSON texts. `depth` counts the schemas around it since the
  // last reference.
  absl::StatusOr<ExpressionId> Any(const Schema& schema,
                                   const std::string& pointer, int depth);
  // The same; OUT_OF_RANGE if there are none, also in a variant.
  absl::StatusOr<ExpressionId> Values(const Schema& schema,
                                      const std::string& pointer, int depth);
  absl::StatusOr<ExpressionId> Reference(const std::string& reference,
                                         const std::string& pointer);
  absl::StatusOr<ExpressionId> Alternatives(const Schema& schema,
                                            const char* keyword,
                                            const std::string& pointer,
                                            int depth);
  // Asks each schema of a oneOf, of which `given` is the list, for values that
  // those do not meet with which it may share some. `branches` are the schemas
  // with what stands beside the oneOf. Returns which this changes. [branches]
  absl::StatusOr<std::vector<bool>> Exclude(const Schema& given,
                                            const std::string& place, int depth,
                                            std::vector<Schema>* branches);
  // True if both schemas are of strings, and no string meets both.
  absl::StatusOr<bool> DisjointTexts(const Schema& a, const Schema& b,
                                     const std::string& place, int depth);
  // A schema of anyOf or oneOf that OpenAPI's discriminator tells by the
  // property `tag`: a value must have it. Sets `whole` to the schema that says
  // so.
  absl::StatusOr<ExpressionId> Tagged(const Schema& branch,
                                      const std::string& tag,
                                      const std::string& pointer, int depth,
                                      Schema* whole);
  absl::StatusOr<ExpressionId> Listed(const Schema& schema,
                                      const std::string& pointer,
                                      JsonTypes types);
  // The values of enum and const that meet the schema's other keywords.
  absl::StatusOr<std::vector<Schema>> ListedValues(const Schema& schema,
                                                   const std::string& pointer,
                                                   JsonTypes types);
  // The other keywords of a schema that lists its values. Those of arrays and
  // objects are not supported there.
  struct ListedConditions {
    std::optional<CharDfa> texts;        // of strings
    int64_t shortest = 0, longest = -1;  // in characters; -1: without limit
    std::optional<NumberBound> low, high;
    bool Meets(const Schema& value) const;
  };
  absl::StatusOr<ListedConditions> ConditionsOfListed(
      const Schema& schema, const std::string& pointer, JsonTypes types);
  absl::StatusOr<ExpressionId> String(const Schema& schema,
                                      const std::string& pointer);
  // The conditions by pattern and format, with their places.
  struct Condition {
    std::string place;
    RegexNode texts;
    bool negative = false;  // all other texts
  };
  using Conditions = std::vector<Condition>;
  absl::StatusOr<Conditions> ConditionsOf(const Schema& schema,
                                          const std::string& pointer);
  // The texts that meet the conditions, of which there are some, and the bounds
  // of their length; `max` is the one that ToExpression is to count, -1: none.
  struct BoundedTexts {
    CharDfa texts;
    int32_t max = -1;
  };
  absl::StatusOr<BoundedTexts> BoundedTextsOf(const Conditions& conditions,
                                              int64_t min,
                                              std::optional<int64_t> max,
                                              const std::string& pointer);
  // The bounds of the lengths of strings.
  struct Lengths {
    int64_t min = 0;
    std::optional<int64_t> max;
  };
  absl::StatusOr<Lengths> LengthsOf(const Schema& schema,
                                    const std::string& pointer);
  // The texts of so many characters, max -1: any, that meet the conditions, of
  // which there are some.
  absl::StatusOr<CharDfa> TextsOf(const Conditions& conditions, int64_t min,
                                  int64_t max, const std::string& pointer);
  absl::StatusOr<ExpressionId> Number(const Schema& schema,
                                      const std::string& pointer, bool integer);
  // The bounds of numbers: those of all, and of integers, which keep all of
  // their digits.
  struct NumberBounds {
    std::optional<NumberBound> low, high;
    std::optional<int64_t> least, greatest;
  };
  absl::StatusOr<NumberBounds> BoundsOf(const Schema& schema,
                                        const std::string& pointer,
                                        bool integer);
  // The decimals without an exponent that are none of the excluded ones;
  // nothing if none is excluded.
  absl::StatusOr<std::optional<CharDfa>> NotExcluded(
      const Schema& schema, const std::string& pointer);
  absl::StatusOr<ExpressionId> Array(const Schema& schema,
                                     const std::string& pointer, int depth);
  // Arrays with items that meet "contains", so many as minContains and
  // maxContains say.
  absl::StatusOr<ExpressionId> Containing(const Schema& schema,
                                          const std::string& pointer,
                                          int64_t min, int64_t max, int depth);
  // The values of a schema if they are few; nothing if they are many, or not
  // easily told.
  absl::StatusOr<std::optional<Schema>> FewValues(const Schema& schema,
                                                  const std::string& pointer,
                                                  int depth);
  // Arrays of min .. max different items of a few values, max -1: of any
  // number; nothing if there are too many values.
  absl::StatusOr<std::optional<ExpressionId>> UniqueArray(
      const Schema& items, const std::string& pointer, int64_t min, int64_t max,
      int depth);
  // An item that must differ from others, in one spelling, and a number of
  // values that it has at least.
  struct UniqueItem {
    ExpressionId texts;
    int64_t values;
  };
  // Nothing if the schema has lists, objects or fractions.
  absl::StatusOr<std::optional<UniqueItem>> ItemInOneSpelling(
      const Schema& schema, const std::string& pointer, int depth);
  // A rule of items that must differ (Grammar::SetUnique), at least `min`.
  absl::StatusOr<ExpressionId> UniqueItemRule(const Schema& schema,
                                              const std::string& pointer,
                                              int64_t min, int depth);
  absl::StatusOr<ExpressionId> Object(const Schema& schema,
                                      const std::string& pointer, int depth);

  struct Property {
    ExpressionId pair;  // name, colon, value
    bool required;
  };
  // The members of an object: declared properties, then any number of others.
  struct Members {
    std::vector<Property> declared;
    std::vector<ExpressionId> extra;  // pairs
    int64_t min = 0;
    int64_t max = -1;  // -1: without limit
  };
  absl::StatusOr<Members> MembersOf(const Schema& schema,
                                    const std::string& pointer, int depth);
  absl::Status AddExtra(const Schema& schema, const std::string& pointer,
                        int depth, std::vector<std::string> names,
                        const std::optional<CharDfa>& allowed,
                        Members* members);
  // The names that propertyNames allows; nothing if it allows all.
  absl::StatusOr<std::optional<CharDfa>> AllowedNames(
      const Schema& schema, const std::string& pointer, int depth);
  // The property names that a key of patternProperties matches.
  absl::StatusOr<const CharDfa*> NamesOf(const std::string& pattern,
                                         const std::string& pointer);
  // The schema in patternProperties whose key matches the name; null if there
  // is none.
  absl::StatusOr<const Schema*> PatternOf(const Schema& schema,
                                          const std::string& name,
                                          const std::string& pointer);
  ExpressionId InOrder(const Members& members);
  ExpressionId InAnyOrder(const Members& members);
  ExpressionId Pair(ExpressionId name, ExpressionId value);
  // A quoted text of the automaton, with max >= 0 of at most so many
  // characters, or of the expression.
  ExpressionId Quoted(const CharDfa& texts, int32_t max = -1);
  ExpressionId Quoted(const RegexNode& texts);
  ExpressionId Quoted(ExpressionId inside);

  // The keyword's value, a natural number; nothing if it is absent.
  absl::StatusOr<std::optional<int64_t>> Natural(const Schema& schema,
                                                 const char* keyword,
                                                 const std::string& pointer);

  SchemaDocument document_;
  const JsonSchemaOptions options_;
  WorkBudget* const work_;
  Grammar grammar_;
  JsonText text_;
  int variants_ = 0;                     // of conditions, around the schema
  bool one_spelling_ = false;            // of strings: escapes only if needed
  std::map<std::string, RuleId> rules_;  // of references
  struct Pending {
    std::string reference;
    const Schema* schema;
    RuleId rule;
  };
  std::deque<Pending> pending_;
  struct TaggedRule {
    RuleId rule;
    Schema schema;
  };
  // By reference and tag.
  std::map<std::pair<std::string, std::string>, TaggedRule> tagged_;
  std::map<std::string, CharDfa> patterns_;  // made by NamesOf
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_SCHEMA_COMPILER_H_

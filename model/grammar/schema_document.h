#ifndef TRIVIUM_MODEL_GRAMMAR_SCHEMA_DOCUMENT_H_
#define TRIVIUM_MODEL_GRAMMAR_SCHEMA_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/grammar/work_budget.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Members in the order in which they are written. Room for a few is made at
// once: to grow copies the names, which took a third of the time of reading a
// schema.
template <typename Key, typename Value, typename Less, typename Allocator>
class SchemaMembers
    : public nlohmann::ordered_map<Key, Value, Less, Allocator> {
 public:
  using nlohmann::ordered_map<Key, Value, Less, Allocator>::ordered_map;
  SchemaMembers() { this->reserve(4); }
};
using Schema = nlohmann::basic_json<SchemaMembers>;

// Keywords of joined schemas. They begin with marks, so that no schema of a
// request has them (GrammarOfJsonSchema refuses such names).
// Further patterns.
inline constexpr char kFurtherPatterns[] = "\2patterns of allOf";
// The following come of conditions only. One look at a schema tells that it has
// none of them.
inline constexpr char kConditionMark = '\1';
// Patterns that a string must not match.
inline constexpr char kOtherPatterns[] = "\1patterns of not";
// Values that the value must not be.
inline constexpr char kExcluded[] = "\1values of not";
// The value is no integer: the opposite of that type.
inline constexpr char kNotInteger[] = "\1type of not";
// Schemas of which a value meets one, like anyOf: what conditions (if, not,
// dependentRequired) come to. Some of them may be impossible.
inline constexpr char kVariants[] = "\1variants";
// unevaluatedProperties and unevaluatedItems beside a choice of schemas, which
// name properties and list items.
inline constexpr char kUnnamed[] = "\1properties that no choice names";
inline constexpr char kUnlisted[] = "\1items that no choice lists";

// A keyword for the members that no schema beside it is about: its mark beside
// a choice, and what to write instead where it is not supported.
struct Unevaluated {
  const char* keyword;
  const char* mark;
  const char* instead;
};
inline constexpr Unevaluated kUnevaluated[] = {
    {"unevaluatedProperties", kUnnamed, "additionalProperties"},
    {"unevaluatedItems", kUnlisted, "items"},
};

// The types of JSON values, one bit each. An integer is a number, too.
using JsonTypes = uint32_t;
inline constexpr JsonTypes kNullType = 1, kBooleanType = 2, kIntegerType = 4,
                           kFractionType = 8, kStringType = 16, kArrayType = 32,
                           kObjectType = 64,
                           kNumberTypes = kIntegerType | kFractionType,
                           kAllTypes = 127;

JsonTypes TypeOf(const Schema& value);
// The value of "type" for them.
Schema TypeNames(JsonTypes types);

// INVALID_ARGUMENT at a keyword: "#/properties/a/not: ...".
absl::Status SchemaError(std::string_view pointer, std::string_view what);
// OUT_OF_RANGE: the schema is well-formed, but no value meets it. A variant of
// conditions is left out then; for a user it is INVALID_ARGUMENT.
absl::Status NothingMeets(std::string_view pointer, std::string_view what);
// Puts a pointer before the error of a part.
absl::Status At(std::string_view pointer, const absl::Status& status);
template <typename T>
absl::StatusOr<T> At(std::string_view pointer, absl::StatusOr<T> result) {
  if (!result.ok()) return At(pointer, result.status());
  return result;
}
// The pointer of a member.
std::string Below(std::string_view pointer, std::string_view key);
// The keys of a pointer: {"a", "b/c"} of "#/a/b~1c".
std::vector<std::string> KeysOf(std::string_view pointer);
// A key of a reference, which is a part of a URI: "a b" of "a%20b".
std::string UriDecoded(std::string_view key);
// The member or the element that a key names; null if there is none.
const Schema* PartAt(const Schema& value, const std::string& key);

// A schema with its definitions, as far as references and types go.
class SchemaDocument {
 public:
  // `root` and `work` outlive this.
  SchemaDocument(const Schema* root, WorkBudget* work)
      : root_(*root), work_(work) {}

  // Returns what "$ref" points to. `pointer` is the place of the reference.
  absl::StatusOr<const Schema*> Resolve(const std::string& reference,
                                        std::string_view pointer) const;
  // True for keywords that restrict no value, and for those that are not known.
  static bool IsAnnotation(std::string_view key);
  // True if the schema has a keyword that is not an annotation.
  static bool Restricts(const Schema& schema);
  // True if the schema, or one that is joined with it, has conditions whose
  // variants name properties that the schema does not.
  bool NamesByConditions(const Schema& schema, int depth) const;
  // True if the schema has a keyword that Merge turns into kVariants.
  static bool HasConditions(const Schema& schema);
  // True if the schema has a keyword that comes of conditions.
  static bool ComesOfConditions(const Schema& schema);
  // Refuses keywords that are not supported if they concern one of `types`, and
  // misspelt ones. Other keywords that are not known are annotations.
  static absl::Status CheckKeywords(const Schema& schema, JsonTypes types,
                                    std::string_view pointer);
  // True if a known keyword concerns values of one of the types.
  static bool Concerns(std::string_view key, JsonTypes types);
  // The types that "type", "enum" and "const" leave.
  absl::StatusOr<JsonTypes> TypesOf(const Schema& schema,
                                    std::string_view pointer) const;

  // Joins two schemas into one that accepts what both accept. INVALID_ARGUMENT
  // if one schema cannot say so; RESOURCE_EXHAUSTED if there is too much work.
  absl::StatusOr<Schema> Merge(const Schema& a, const Schema& b,
                               std::string_view pointer, int depth = 0) const;
  // Schemas of which a value meets at least one if and only if it does not meet
  // `schema`. INVALID_ARGUMENT if no schemas can say so.
  absl::StatusOr<std::vector<Schema>> Opposite(const Schema& schema,
                                               std::string_view pointer,
                                               int depth) const;
  // True if it is certain that no value meets a schema that Merge returned.
  absl::StatusOr<bool> Impossible(const Schema& schema,
                                  std::string_view pointer, int depth) const;
  // True if it is certain that no value is accepted by both.
  absl::StatusOr<bool> Disjoint(const Schema& a, const Schema& b,
                                std::string_view pointer, int depth = 0) const;

 private:
  // A schema's conditions without its other keywords. Each part has kVariants,
  // or is one variant.
  absl::StatusOr<std::vector<Schema>> Conditions(const Schema& schema,
                                                 std::string_view pointer,
                                                 int depth) const;
  // Takes away the variants of a schema that its other keywords exclude.
  absl::Status LeaveOutImpossible(Schema* schema, std::string_view pointer,
                                  int depth) const;
  // The variants that meet one schema of each list.
  absl::StatusOr<Schema> Product(const Schema& a, const Schema& b,
                                 std::string_view pointer, int depth) const;
  // Follows references, allOf and conditions until there are none at the top.
  absl::StatusOr<Schema> Flatten(const Schema& schema, std::string_view pointer,
                                 int depth) const;
  absl::Status MergeProperties(const Schema& a, const Schema& b,
                               std::string_view pointer, Schema* merged) const;

  // Takes steps of joins from the work.
  absl::Status Take(size_t steps, std::string_view pointer) const;

  const Schema& root_;
  WorkBudget* const work_;
};

// Most levels of references, joins and nested schemas.
inline constexpr int kMostSchemaDepth = 64;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_SCHEMA_DOCUMENT_H_

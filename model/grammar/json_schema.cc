// A schema becomes an expression in this order:
//   1. `type`, `enum` and `const` say which types are left; keywords that
//      concern none of these are annotations, and unknown ones too.
//   2. $ref alone becomes a rule, so a schema may contain itself. Whatever else
//      joins schemas ($ref beside keywords, allOf, if, not ...) is merged into
//      one schema first (schema_merge.cc), which is then read from step 1 on.
//   3. anyOf, oneOf and variants: each branch is merged with what stands beside
//      it. Branches of a oneOf that may share values exclude each other.
//   4. The rest is a choice by type: strings and numbers (schema_values.cc),
//      arrays (schema_array.cc), objects (schema_object.cc).
//
// What always holds: the texts of the expression are exactly those that the
// schema allows, less the spellings that docs/constraints.md names. A schema
// for which this cannot be so is an error at its keyword, never a wider
// grammar.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/frontends.h"
#include "model/grammar/schema_compiler.h"
#include "model/grammar/schema_names.h"
#include "model/grammar/schema_place.h"

namespace trivium {
namespace {

// Says that a keyword may be one of any of the schemas that were joined.
absl::StatusOr<ExpressionId> Joined(const std::string& pointer,
                                    absl::StatusOr<ExpressionId> result) {
  constexpr std::string_view kIn = " (in the schemas joined at ";
  const std::string message(result.status().message());
  if (result.ok() || absl::IsResourceExhausted(result.status()) ||
      message.find(kIn) != message.npos) {
    return result;
  }
  return absl::Status(result.status().code(),
                      fmt::format("{}{}{})", message, kIn, pointer));
}

}  // namespace

SchemaCompiler::SchemaCompiler(const Schema* root,
                               const JsonSchemaOptions& options,
                               const GrammarLimits& limits, WorkBudget* work)
    : document_(root, work),
      options_(options),
      work_(work),
      grammar_(limits),
      text_(&grammar_, options.space) {}

absl::StatusOr<Grammar> SchemaCompiler::Compile() {
  TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId root, Reference("#", "#"));
  while (!pending_.empty()) {
    const Pending next = pending_.front();
    pending_.pop_front();
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId expression,
                             Any(*next.schema, next.reference, 0));
    grammar_.Define(next.rule, expression);
    if (const absl::Status status = grammar_.Check(); !status.ok()) {
      return At(next.reference, status);
    }
  }
  grammar_.set_root(grammar_.expression(root).index);
  grammar_.set_place("#");
  return std::move(grammar_);
}

absl::StatusOr<ExpressionId> SchemaCompiler::Reference(
    const std::string& reference, const std::string& pointer) {
  const auto [found, added] = rules_.try_emplace(reference, 0);
  if (added) {
    TRIVIUM_ASSIGN_OR_RETURN(const Schema* schema,
                             document_.Resolve(reference, pointer));
    found->second = grammar_.AddRule();
    pending_.push_back({reference, schema, found->second});
  }
  return grammar_.Rule(found->second);
}

absl::StatusOr<ExpressionId> SchemaCompiler::Any(const Schema& schema,
                                                 const std::string& pointer,
                                                 int depth) {
  const absl::StatusOr<ExpressionId> values = Values(schema, pointer, depth);
  if (variants_ > 0 && absl::IsOutOfRange(values.status())) {
    return grammar_.Choice({});
  }
  return values;
}

absl::StatusOr<ExpressionId> SchemaCompiler::Values(const Schema& schema,
                                                    const std::string& pointer,
                                                    int depth) {
  if (depth > kMostSchemaDepth) {
    return SchemaError(
        pointer, fmt::format("is nested deeper than {}", kMostSchemaDepth));
  }
  if (const absl::Status status = grammar_.Check(); !status.ok()) {
    return At(pointer, status);
  }
  if (schema.is_boolean()) {
    return schema.get<bool>() ? text_.Value() : grammar_.Choice({});
  }
  if (!schema.is_object()) {
    return SchemaError(pointer, "a schema must be an object, true or false");
  }
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                           document_.TypesOf(schema, pointer));
  TRIVIUM_RETURN_IF_ERROR(
      SchemaDocument::CheckKeywords(schema, types, pointer));
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    Schema rest = schema;
    rest.erase("$ref");
    if (reference->is_string() && !SchemaDocument::Restricts(rest)) {
      return Reference(reference->get<std::string>(), Below(pointer, "$ref"));
    }
  }
  if (schema.contains("$ref") || schema.contains("allOf") ||
      SchemaDocument::HasConditions(schema)) {
    const auto joined = document_.Merge(schema, Schema(true), pointer, depth);
    if (!joined.ok()) return Joined(pointer, joined.status());
    return Joined(pointer, Any(*joined, pointer, depth + 1));
  }
  const bool conditional = SchemaDocument::ComesOfConditions(schema);
  if (conditional && schema.contains(kVariants)) {
    return Alternatives(schema, kVariants, pointer, depth);
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (schema.contains(keyword)) {
      return Alternatives(schema, keyword, pointer, depth);
    }
  }
  if (schema.contains("enum") || schema.contains("const")) {
    return Listed(schema, pointer, types);
  }
  if (!SchemaDocument::Restricts(schema)) return text_.Value();
  const Schema* const excluded =
      conditional ? PartAt(schema, kExcluded) : nullptr;
  if (excluded != nullptr) {
    for (const Schema& value : *excluded) {
      if (value.is_structured() && (TypeOf(value) & types) != 0) {
        return SchemaError(pointer,
                           "a list or an object cannot be excluded as a whole");
      }
    }
  }
  std::vector<ExpressionId> choices;
  if (types & kObjectType) {
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId object,
                             Object(schema, pointer, depth));
    choices.push_back(object);
  }
  if (types & kArrayType) {
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId array,
                             Array(schema, pointer, depth));
    choices.push_back(array);
  }
  if (types & kStringType) {
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId string,
                             String(schema, pointer));
    choices.push_back(string);
  }
  if (types & kNumberTypes) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const ExpressionId number,
        Number(schema, pointer, (types & kFractionType) == 0));
    choices.push_back(number);
  }
  if (excluded == nullptr) {
    if (types & kBooleanType) choices.push_back(text_.Boolean());
    if (types & kNullType) choices.push_back(text_.Null());
    return grammar_.Choice(std::move(choices));
  }
  for (const Schema& value : {Schema(true), Schema(false), Schema(nullptr)}) {
    if ((TypeOf(value) & types) != 0 &&
        std::find(excluded->begin(), excluded->end(), value) ==
            excluded->end()) {
      choices.push_back(text_.Constant(value));
    }
  }
  return grammar_.Choice(std::move(choices));
}

absl::StatusOr<ExpressionId> SchemaCompiler::Alternatives(
    const Schema& schema, const char* keyword, const std::string& pointer,
    int depth) {
  constexpr size_t kMostExclusive = 64;
  const bool variants = std::string_view(keyword) == kVariants;
  const std::string place = variants ? pointer : Below(pointer, keyword);
  const Schema& branches = schema.at(keyword);
  if (!branches.is_array() || branches.empty()) {
    return SchemaError(place, "must be a list of schemas");
  }
  std::optional<std::string> tag;
  Schema rest = Schema::object();
  // The values of kUnevaluated's keywords.
  std::map<const Unevaluated*, const Schema*> others;
  for (const auto& [key, value] : schema.items()) {
    const auto* const kind =
        std::find_if(std::begin(kUnevaluated), std::end(kUnevaluated),
                     [&key = key](const auto& one) { return key == one.mark; });
    if (kind != std::end(kUnevaluated)) {
      others[kind] = &value;
    } else if (key == "discriminator" && !variants) {
      const Schema* const name = PartAt(value, "propertyName");
      if (name == nullptr || !name->is_string()) {
        return SchemaError(Below(pointer, key),
                           "must have a propertyName, which is a string");
      }
      tag = name->get<std::string>();
    } else if (key != keyword) {
      rest[key] = value;
    }
  }
  const bool joined =
      SchemaDocument::Restricts(rest) || !others.empty() || variants;
  if (joined && tag.has_value()) {
    Schema& required = rest["required"];
    if (required.is_null()) required = Schema::array();
    if (required.is_array()) required.push_back(*tag);
  }
  const bool exclusive = std::string_view(keyword) == "oneOf";
  if (exclusive && branches.size() > kMostExclusive) {
    return SchemaError(place,
                       fmt::format("has more than {} schemas", kMostExclusive));
  }
  std::vector<Schema> whole;
  std::vector<std::optional<ExpressionId>> made;
  for (size_t i = 0; i < branches.size(); ++i) {
    const std::string branch =
        variants ? pointer : fmt::format("{}/{}", place, i);
    made.emplace_back();
    if (!joined && tag.has_value()) {
      Schema tagged;
      TRIVIUM_ASSIGN_OR_RETURN(
          made.back(), Tagged(branches[i], *tag, branch, depth, &tagged));
      whole.push_back(std::move(tagged));
    } else if (!joined) {
      whole.push_back(exclusive ? branches[i] : Schema());
    } else {
      auto merged = document_.Merge(rest, branches[i], branch, depth);
      if (!merged.ok()) return Joined(branch, merged.status());
      whole.push_back(*std::move(merged));
    }
  }
  std::vector<bool> excludes(whole.size(), false);
  if (exclusive) {
    TRIVIUM_ASSIGN_OR_RETURN(excludes, Exclude(branches, place, depth, &whole));
  }
  for (const auto& [kind, of_others] : others) {
    for (size_t i = 0; i < whole.size(); ++i) {
      if (excludes[i]) {
        return SchemaError(Below(pointer, kind->keyword),
                           "is not supported beside a oneOf of schemas that "
                           "share values");
      }
      if (whole[i].is_object()) whole[i][kind->keyword] = *of_others;
    }
  }
  std::vector<ExpressionId> choices;
  for (size_t i = 0; i < whole.size(); ++i) {
    const std::string branch =
        variants ? pointer : fmt::format("{}/{}", place, i);
    if (!made[i].has_value() || excludes[i]) {
      // A part of a variant that no value meets is left out.
      const int within = variants || excludes[i] ? 1 : 0;
      const bool is_whole = joined || exclusive;
      variants_ += within;
      absl::StatusOr<ExpressionId> choice =
          Any(is_whole ? whole[i] : branches[i], branch, depth + 1);
      variants_ -= within;
      if (joined || excludes[i]) choice = Joined(branch, std::move(choice));
      TRIVIUM_ASSIGN_OR_RETURN(made[i], std::move(choice));
    }
    choices.push_back(*made[i]);
  }
  return grammar_.Choice(std::move(choices));
}

absl::StatusOr<std::vector<bool>> SchemaCompiler::Exclude(
    const Schema& given, const std::string& place, int depth,
    std::vector<Schema>* branches) {
  const std::vector<Schema> whole = *branches;
  std::vector<bool> excludes(whole.size(), false);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto disjoint =
          document_.Disjoint(whole[j], whole[i], place, depth);
      for (const size_t one : {j, i}) {
        if (disjoint.ok()) break;
        // The schema's own error has a better place.
        TRIVIUM_RETURN_IF_ERROR(
            Any(whole[one], fmt::format("{}/{}", place, one), depth + 1)
                .status());
      }
      TRIVIUM_RETURN_IF_ERROR(disjoint.status());
      if (*disjoint) continue;
      TRIVIUM_ASSIGN_OR_RETURN(const bool disjoint_texts,
                               DisjointTexts(whole[j], whole[i], place, depth));
      if (disjoint_texts) continue;
      for (const auto& [one, other] : {std::pair(i, j), std::pair(j, i)}) {
        auto left = document_.Merge(
            (*branches)[one], Schema{{"not", given[other]}}, place, depth);
        if (absl::IsInvalidArgument(left.status())) {
          return SchemaError(
              place,
              fmt::format("a value may be of both {} and {}, which is not "
                          "supported; write anyOf, or a required property "
                          "with another const in each",
                          j, i));
        }
        TRIVIUM_ASSIGN_OR_RETURN((*branches)[one], std::move(left));
        excludes[one] = true;
      }
    }
  }
  bool none = true;
  for (const Schema& branch : *branches) {
    TRIVIUM_ASSIGN_OR_RETURN(const bool impossible,
                             document_.Impossible(branch, place, depth));
    none = none && impossible;
  }
  if (none) {
    return SchemaError(place, "each value of one is of another one, too");
  }
  return excludes;
}

absl::StatusOr<bool> SchemaCompiler::DisjointTexts(const Schema& a,
                                                   const Schema& b,
                                                   const std::string& place,
                                                   int depth) {
  std::optional<CharDfa> texts;
  for (const Schema* schema : {&a, &b}) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const Schema whole,
        document_.Merge(*schema, Schema(true), place, depth));
    TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                             document_.TypesOf(whole, place));
    if (types != kStringType || !whole.is_object()) return false;
    TRIVIUM_ASSIGN_OR_RETURN(const Conditions conditions,
                             ConditionsOf(whole, place));
    // Lengths alone have an opposite.
    if (conditions.empty()) return false;
    TRIVIUM_ASSIGN_OR_RETURN(CharDfa one, TextsOf(conditions, 0, -1, place));
    if (texts.has_value()) {
      TRIVIUM_ASSIGN_OR_RETURN(one, At(place, texts->Intersection(one, work_)));
    }
    texts = std::move(one);
  }
  return texts->empty();
}

absl::StatusOr<ExpressionId> SchemaCompiler::Tagged(const Schema& branch,
                                                    const std::string& tag,
                                                    const std::string& pointer,
                                                    int depth, Schema* whole) {
  // A schema that is referred to becomes a rule, since it may contain itself.
  std::string reference;
  if (const Schema* const target = PartAt(branch, "$ref");
      target != nullptr && target->is_string() && branch.size() == 1) {
    reference = target->get<std::string>();
  }
  const std::pair key(reference, tag);
  if (const auto found = tagged_.find(key);
      found != tagged_.end() && !reference.empty()) {
    *whole = found->second.schema;
    return grammar_.Rule(found->second.rule);
  }
  auto merged = document_.Merge(
      branch, Schema{{"required", Schema::array({tag})}}, pointer, depth);
  if (!merged.ok()) return Joined(pointer, merged.status());
  *whole = *merged;
  if (reference.empty()) return Any(*whole, pointer, depth + 1);
  TaggedRule& made =
      tagged_.emplace(key, TaggedRule{grammar_.AddRule(), *std::move(merged)})
          .first->second;
  pending_.push_back({reference, &made.schema, made.rule});
  return grammar_.Rule(made.rule);
}

absl::StatusOr<std::vector<Schema>> SchemaCompiler::ListedValues(
    const Schema& schema, const std::string& pointer, JsonTypes types) {
  Schema values = Schema::array();
  if (const auto listed = schema.find("enum"); listed != schema.end()) {
    if (!listed->is_array()) {
      return SchemaError(Below(pointer, "enum"), "must be a list of values");
    }
    values = *listed;
  }
  if (const auto one = schema.find("const"); one != schema.end()) {
    // Objects are equal in any order of their members.
    const bool in =
        !schema.contains("enum") ||
        std::any_of(values.begin(), values.end(), [&](const Schema& value) {
          return nlohmann::json(value) == nlohmann::json(*one);
        });
    values = Schema::array();
    if (in) values.push_back(*one);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const ListedConditions conditions,
                           ConditionsOfListed(schema, pointer, types));
  std::vector<Schema> met;
  for (const Schema& value : values) {
    if ((TypeOf(value) & types) != 0 && conditions.Meets(value)) {
      met.push_back(value);
    }
  }
  return met;
}

absl::StatusOr<ExpressionId> SchemaCompiler::Listed(const Schema& schema,
                                                    const std::string& pointer,
                                                    JsonTypes types) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Schema> values,
                           ListedValues(schema, pointer, types));
  if (values.empty()) {
    return NothingMeets(pointer, "no listed value meets its other keywords");
  }
  std::vector<ExpressionId> choices;
  for (const Schema& value : values) choices.push_back(text_.Constant(value));
  return grammar_.Choice(std::move(choices));
}

namespace {

// Returns the place of the quotation mark that ends the string whose first
// character is at `at`; the end of the text or beyond if there is none.
size_t EndOfString(std::string_view text, size_t at) {
  size_t quote = 0;
  while (at < text.size()) {
    if (quote < at) quote = std::min(text.find('"', at), text.size());
    const size_t escape = text.substr(at, quote - at).find('\\');
    if (escape == text.npos) return quote;
    at += escape + 2;
  }
  return at;
}

// The steps of reading a text whose objects keep their order: each name is
// compared with those before it. Up to the first error of a wrong text, this
// sees the same members as a parser.
size_t OrderedSteps(std::string_view text) {
  size_t steps = 1;
  std::vector<size_t> members;  // of the open objects and lists
  const auto close = [&] {
    steps += members.back() * members.back() / 8;
    members.pop_back();
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at + 1);
    } else if (c == '{' || c == '[') {
      ++steps;
      members.push_back(0);
    } else if (c == ',') {
      ++steps;
    } else if (c == ':' && !members.empty()) {
      ++members.back();
    } else if ((c == '}' || c == ']') && !members.empty()) {
      close();
    }
  }
  while (!members.empty()) close();
  return steps;
}

// True if an object has a name that begins like the keywords of joined schemas.
bool HasMarkedName(const Schema& value) {
  if (!value.is_structured()) return false;
  for (const auto& [name, part] : value.items()) {
    if (value.is_object() && (name.starts_with(kConditionMark) ||
                              name.starts_with(kFurtherPatterns[0]))) {
      return true;
    }
    if (HasMarkedName(part)) return true;
  }
  return false;
}

// Returns the grammar of a schema's values, or with `without` of the bare texts
// of its strings.
absl::StatusOr<Grammar> GrammarOfSchema(
    std::string_view schema, const JsonSchemaOptions& options,
    const GrammarLimits& limits, const AliveCheck& check_alive,
    std::optional<std::string_view> without) {
  // Properties stay in the order in which they are declared, unlike
  // ParseJson's.
  const absl::Status checked =
      CheckJson(schema, {limits.text_bytes, size_t{32} << 20});
  if (!checked.ok()) {
    return absl::Status(
        checked.code(),
        fmt::format("#: the schema {}", std::string(checked.message())));
  }
  WorkBudget work(limits.work, check_alive);
  if (!work.Take(OrderedSteps(schema))) return At("#", work.status());
  Schema root = Schema::parse(schema.begin(), schema.end(),
                              /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return SchemaError("#", "the schema is not JSON");
  // JSON writes these characters as escapes only, and few schemas have any.
  if (schema.find("\\u000") != schema.npos && HasMarkedName(root)) {
    return SchemaError("#",
                       "no name in a schema may begin with \\u0001 or \\u0002; "
                       "rename it");
  }
  if (const absl::Status pointed = PointReferences(schema, &work, &root);
      !pointed.ok()) {
    return At("#", pointed);
  }
  if (root.is_object()) {
    // Names of the whole schema, which nothing refers to any more.
    root.erase("$id");
    root.erase("id");
  }
  SchemaCompiler compiler(&root, options, limits, &work);
  absl::StatusOr<Grammar> grammar = without.has_value()
                                        ? compiler.CompileBareStrings(*without)
                                        : compiler.Compile();
  if (!grammar.ok()) {
    const absl::Status status = WithPlaceIn(root, grammar.status());
    return absl::IsOutOfRange(status)
               ? absl::InvalidArgumentError(status.message())
               : status;
  }
  return grammar;
}

}  // namespace

absl::StatusOr<Grammar> GrammarOfJsonSchema(std::string_view schema,
                                            const JsonSchemaOptions& options,
                                            const GrammarLimits& limits,
                                            const AliveCheck& check_alive) {
  return GrammarOfSchema(schema, options, limits, check_alive, std::nullopt);
}

absl::StatusOr<Grammar> GrammarOfBareStrings(std::string_view schema,
                                             std::string_view without,
                                             const GrammarLimits& limits,
                                             const AliveCheck& check_alive) {
  return GrammarOfSchema(schema, {}, limits, check_alive, without);
}

absl::StatusOr<Grammar> GrammarOfJsonObject(const JsonSchemaOptions& options,
                                            const GrammarLimits& limits) {
  return GrammarOfJsonSchema(R"({"type": "object"})", options, limits);
}

}  // namespace trivium

// Joins of schemas: what allOf, and keywords beside $ref, anyOf and oneOf, ask
// for. Conditions are joined as variants (schema_conditions.cc).
//
// What always holds:
// - Merge accepts exactly what both schemas accept. If no single schema says so
//   (two `contains`, a pattern beside the other's properties), it is an error
//   at the keyword, never one schema of the two.
// - Both sides are flattened first: a merged schema has no $ref, allOf or
//   condition at its top. Its parts may: `items` and properties are joined as
//   an allOf, which is merged only if it is reached. So a recursive schema
//   ends.
// - Disjoint and Impossible answer true only if they are certain. False may
//   mean "not known".
// - Each join takes steps in proportion to both schemas, and levels are bounded
//   by kMostSchemaDepth: a reference that leads to itself is an error, no loop.
#include <algorithm>
#include <set>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/schema_document.h"

namespace trivium {
namespace {

// The steps for one value of a schema, which is copied several times.
constexpr size_t kStepsPerValue = 10;

// The values of a list. Objects are equal in any order of their members.
std::set<nlohmann::json> ValuesIn(const Schema& list) {
  return std::set<nlohmann::json>(list.begin(), list.end());
}

// The values that a schema lists; null if it lists none.
Schema ListedValues(const Schema& schema) {
  if (!schema.is_object()) return nullptr;
  if (const auto found = schema.find("const"); found != schema.end()) {
    return Schema::array({*found});
  }
  const auto found = schema.find("enum");
  return found != schema.end() && found->is_array() ? *found : Schema(nullptr);
}

// The schema of a property that the schema does not name.
const Schema* RestOf(const Schema& schema) {
  const auto found = schema.find("additionalProperties");
  return found == schema.end() ? nullptr : &*found;
}

std::set<nlohmann::json> RequiredBy(const Schema& schema) {
  const auto found = schema.find("required");
  if (found == schema.end() || !found->is_array()) return {};
  return ValuesIn(*found);
}

size_t PropertiesOf(const Schema& schema) {
  const auto found = schema.find("properties");
  return found == schema.end() ? 0 : found->size();
}

// Both schemas, in one. Many are one list, so that they do not nest.
Schema Both(const Schema& a, const Schema& b) {
  if (a == b) return a;
  if (a.is_object() && a.size() == 1 && a.contains("allOf") &&
      a.at("allOf").is_array()) {
    Schema both = a;
    both["allOf"].push_back(b);
    return both;
  }
  return Schema{{"allOf", Schema::array({a, b})}};
}

// Adds an element to a list of the schema unless it is there.
void AddTo(const char* keyword, const Schema& element, Schema* schema) {
  Schema& list = (*schema)[keyword];
  if (!list.is_array()) list = Schema::array();
  if (std::find(list.begin(), list.end(), element) == list.end()) {
    list.push_back(element);
  }
}

// Takes the values away from a list that must not come.
void LeaveOutExcluded(Schema* schema) {
  const Schema listed = ListedValues(*schema);
  const auto excluded = schema->find(kExcluded);
  if (listed.is_null() || excluded == schema->end()) return;
  const std::set<nlohmann::json> values = ValuesIn(*excluded);
  Schema left = Schema::array();
  for (const Schema& value : listed) {
    if (!values.contains(value)) left.push_back(value);
  }
  schema->erase("const");
  schema->erase(kExcluded);
  (*schema)["enum"] = std::move(left);
}

// The most variants of a schema's conditions, and pairs of its choices.
constexpr size_t kMostVariants = 64;

// True if values of a schema meet one of several.
bool IsChoice(const Schema& schema) {
  return schema.contains(kVariants) || schema.contains("anyOf") ||
         schema.contains("oneOf");
}

// Gives the items that a schema does not list the schema `others`.
absl::Status SetOtherItems(const Schema& others, std::string_view pointer,
                           Schema* schema) {
  // Drafts differ on whether items that "contains" looks for are listed.
  if (schema->contains("contains")) {
    return SchemaError(Below(pointer, "unevaluatedItems"),
                       "is not supported beside contains; write items");
  }
  const auto items = schema->find("items");
  const bool by_places = items != schema->end() && items->is_array();
  const char* const keyword = by_places ? "additionalItems" : "items";
  if (!schema->contains(keyword)) (*schema)[keyword] = others;
  return absl::OkStatus();
}

// The number of values in a schema.
size_t DeepSize(const Schema& schema) {
  size_t size = 1;
  if (schema.is_structured()) {
    for (const Schema& part : schema) size += DeepSize(part);
  }
  return size;
}

}  // namespace

absl::Status SchemaDocument::Take(size_t steps,
                                  std::string_view pointer) const {
  if (work_->Take(steps)) return absl::OkStatus();
  return At(pointer, work_->status());
}

absl::StatusOr<Schema> SchemaDocument::Flatten(const Schema& schema,
                                               std::string_view pointer,
                                               int depth) const {
  if (depth > kMostSchemaDepth) {
    return SchemaError(
        pointer, fmt::format("references and joins are nested deeper than "
                             "{}, perhaps without end",
                             kMostSchemaDepth));
  }
  if (!schema.is_object()) return schema;
  Schema rest = schema;
  const auto reference = schema.find("$ref");
  const auto all = schema.find("allOf");
  const bool conditions = HasConditions(schema);
  if (reference == schema.end() && all == schema.end() && !conditions) {
    return rest;
  }
  rest.erase("$ref");
  rest.erase("allOf");
  if (conditions) {
    for (const char* key :
         {"not", "if", "then", "else", "dependentRequired", "dependentSchemas",
          "dependencies", "unevaluatedProperties", "unevaluatedItems"}) {
      rest.erase(key);
    }
  }
  if (reference != schema.end()) {
    const std::string place = Below(pointer, "$ref");
    if (!reference->is_string()) return SchemaError(place, "must be a string");
    TRIVIUM_ASSIGN_OR_RETURN(
        const Schema* target,
        Resolve(reference->get_ref<const std::string&>(), place));
    TRIVIUM_ASSIGN_OR_RETURN(rest, Merge(*target, rest, pointer, depth + 1));
  }
  if (all != schema.end()) {
    const std::string place = Below(pointer, "allOf");
    if (!all->is_array() || all->empty()) {
      return SchemaError(place, "must be a list of schemas");
    }
    for (const Schema& part : *all) {
      TRIVIUM_ASSIGN_OR_RETURN(rest, Merge(rest, part, pointer, depth + 1));
    }
  }
  if (!conditions) return rest;
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Schema> parts,
                           Conditions(schema, pointer, depth));
  for (const Schema& part : parts) {
    TRIVIUM_ASSIGN_OR_RETURN(rest, Merge(rest, part, pointer, depth + 1));
    TRIVIUM_RETURN_IF_ERROR(LeaveOutImpossible(&rest, pointer, depth));
  }
  for (const Unevaluated& kind : kUnevaluated) {
    const auto others = schema.find(kind.keyword);
    if (others == schema.end() || !rest.is_object()) continue;
    if (!others->is_object() && !others->is_boolean()) {
      return SchemaError(Below(pointer, kind.keyword),
                         "a schema must be an object, true or false");
    }
    if (NamesByConditions(schema, 0)) {
      return SchemaError(
          Below(pointer, kind.keyword),
          fmt::format("is not supported beside conditions; write {}",
                      kind.instead));
    }
    if (IsChoice(rest)) {
      // Each choice has members of its own (SchemaCompiler::Alternatives).
      rest[kind.mark] = *others;
    } else if (std::string_view(kind.mark) == kUnnamed) {
      if (RestOf(rest) == nullptr) rest["additionalProperties"] = *others;
    } else {
      TRIVIUM_RETURN_IF_ERROR(SetOtherItems(*others, pointer, &rest));
    }
  }
  return rest;
}

absl::StatusOr<Schema> SchemaDocument::Merge(const Schema& first,
                                             const Schema& second,
                                             std::string_view pointer,
                                             int depth) const {
  TRIVIUM_RETURN_IF_ERROR(
      Take(kStepsPerValue * (DeepSize(first) + DeepSize(second)), pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const Schema a, Flatten(first, pointer, depth));
  TRIVIUM_ASSIGN_OR_RETURN(const Schema b, Flatten(second, pointer, depth));
  if (a.is_boolean()) return a.get<bool>() ? b : a;
  if (b.is_boolean()) return b.get<bool>() ? a : b;
  if (!a.is_object() || !b.is_object()) {
    return SchemaError(pointer, "a schema must be an object, true or false");
  }
  for (const Unevaluated& kind : kUnevaluated) {
    if (!a.contains(kind.mark) && !b.contains(kind.mark)) continue;
    return SchemaError(
        Below(pointer, kind.keyword),
        fmt::format("is not supported in a choice of schemas that is joined "
                    "with others; write {} in each",
                    kind.instead));
  }
  // Members are looked up one by one.
  const size_t properties = PropertiesOf(a) + PropertiesOf(b);
  TRIVIUM_RETURN_IF_ERROR(
      Take(a.size() * b.size() + properties * PropertiesOf(b), pointer));
  // The keyword that gives items by their places; null: none.
  const auto places = [](const Schema& schema) -> const char* {
    if (schema.contains("prefixItems")) return "prefixItems";
    const auto items = schema.find("items");
    return items != schema.end() && items->is_array() ? "items" : nullptr;
  };
  const auto of_items = [](const Schema& schema) {
    return schema.contains("prefixItems") || schema.contains("items") ||
           schema.contains("additionalItems");
  };
  const char* const place = places(a) != nullptr ? places(a) : places(b);
  if (place != nullptr && of_items(a) && of_items(b)) {
    return SchemaError(Below(pointer, place),
                       "cannot be joined with another schema's items");
  }
  // A count of items that meet "contains" belongs to one such schema.
  const auto containing = [](const Schema& schema) {
    Schema keywords = Schema::object();
    for (const char* key : {"contains", "minContains", "maxContains"}) {
      const auto found = schema.find(key);
      if (found != schema.end()) keywords[key] = *found;
    }
    return keywords;
  };
  if (const Schema left = containing(a), right = containing(b);
      !left.empty() && !right.empty() && left != right) {
    return SchemaError(
        Below(pointer, b.contains("contains") ? "contains"
                                              : right.items().begin().key()),
        "cannot be joined with another contains");
  }
  Schema merged = a;
  for (const auto& [key, value] : b.items()) {
    const auto old = a.find(key);
    if (key == "properties" || key == "additionalProperties" ||
        key == "patternProperties") {
      continue;  // MergeProperties
    }
    if (key == "type") {
      TRIVIUM_ASSIGN_OR_RETURN(
          const JsonTypes left,
          TypesOf(old == a.end() ? Schema::object() : Schema{{"type", *old}},
                  pointer));
      TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes right,
                               TypesOf(Schema{{"type", value}}, pointer));
      if ((left & right) == 0) return Schema(false);
      merged[key] = TypeNames(left & right);
    } else if (key == "enum" || key == "const") {
      const Schema listed = ListedValues(a);
      if (listed.is_null()) {
        merged[key] = value;
        continue;
      }
      Schema common = Schema::array();
      const std::set<nlohmann::json> others = ValuesIn(ListedValues(b));
      for (const Schema& one : listed) {
        if (others.contains(one)) common.push_back(one);
      }
      merged.erase("const");
      merged["enum"] = common;
    } else if (value.is_array() &&
               (key == kFurtherPatterns || key == kOtherPatterns ||
                key == kExcluded)) {
      for (const Schema& one : value) AddTo(key.c_str(), one, &merged);
    } else if (old == a.end() || *old == value) {
      merged[key] = value;
    } else if (IsAnnotation(key)) {
      // The first one stays.
    } else if (key == "pattern") {
      if (!value.is_string()) {
        return SchemaError(Below(pointer, key), "must be a string");
      }
      AddTo(kFurtherPatterns, value, &merged);
    } else if (value.is_array() && old->is_array() &&
               (key == kVariants || key == "anyOf" || key == "oneOf")) {
      TRIVIUM_ASSIGN_OR_RETURN(merged[key],
                               Product(*old, value, pointer, depth));
    } else if (key.starts_with("min") || key == "exclusiveMinimum") {
      if (!old->is_number() || !value.is_number()) {
        return SchemaError(Below(pointer, key), "must be a number");
      }
      merged[key] = *old < value ? value : *old;
    } else if (key.starts_with("max") || key == "exclusiveMaximum") {
      if (!old->is_number() || !value.is_number()) {
        return SchemaError(Below(pointer, key), "must be a number");
      }
      merged[key] = *old < value ? *old : value;
    } else if (key == "required" && value.is_array() && old->is_array()) {
      std::set<nlohmann::json> names = ValuesIn(*old);
      for (const Schema& name : value) {
        if (names.insert(name).second) merged[key].push_back(name);
      }
    } else if (key == "items") {
      merged[key] = Both(*old, value);
    } else {
      return SchemaError(Below(pointer, key),
                         "two different values are joined here, which is not "
                         "supported; write one");
    }
  }
  LeaveOutExcluded(&merged);
  TRIVIUM_RETURN_IF_ERROR(MergeProperties(a, b, pointer, &merged));
  return merged;
}

bool SchemaDocument::NamesByConditions(const Schema& schema, int depth) const {
  constexpr int kMostLevels = 8;
  if (!schema.is_object()) return false;
  if (depth > kMostLevels || !work_->Take(1 + schema.size())) return true;
  for (const auto& [key, value] : schema.items()) {
    if (key == "not" || key == "if" || key.starts_with("dependen")) return true;
    if (key == "$ref" && value.is_string()) {
      const auto target = Resolve(value.get_ref<const std::string&>(), "#");
      if (target.ok() && NamesByConditions(**target, depth + 1)) return true;
    }
    if ((key == "allOf" || key == "anyOf" || key == "oneOf") &&
        value.is_array()) {
      for (const Schema& part : value) {
        if (NamesByConditions(part, depth + 1)) return true;
      }
    }
  }
  return false;
}

absl::Status SchemaDocument::LeaveOutImpossible(Schema* schema,
                                                std::string_view pointer,
                                                int depth) const {
  if (!schema->is_object() || !schema->contains(kVariants) ||
      !schema->at(kVariants).is_array()) {
    return absl::OkStatus();
  }
  Schema base = *schema;
  for (const char* choice :
       {kVariants, "anyOf", "oneOf", kUnnamed, kUnlisted}) {
    base.erase(choice);
  }
  Schema left = Schema::array();
  for (const Schema& variant : schema->at(kVariants)) {
    TRIVIUM_ASSIGN_OR_RETURN(const Schema both,
                             Merge(base, variant, pointer, depth + 1));
    TRIVIUM_ASSIGN_OR_RETURN(const bool impossible,
                             Impossible(both, pointer, depth + 1));
    if (!impossible) left.push_back(variant);
  }
  if (left.empty()) {
    *schema = false;
  } else {
    (*schema)[kVariants] = std::move(left);
  }
  return absl::OkStatus();
}

absl::StatusOr<Schema> SchemaDocument::Product(const Schema& a, const Schema& b,
                                               std::string_view pointer,
                                               int depth) const {
  // A value that meets one schema of each list, or exactly one, does so of
  // their pairs.
  Schema pairs = Schema::array();
  for (const Schema& left : a) {
    for (const Schema& right : b) {
      TRIVIUM_ASSIGN_OR_RETURN(Schema both,
                               Merge(left, right, pointer, depth + 1));
      TRIVIUM_ASSIGN_OR_RETURN(const bool impossible,
                               Impossible(both, pointer, depth + 1));
      if (impossible) continue;
      if (pairs.size() == kMostVariants) {
        return SchemaError(
            pointer, fmt::format("its conditions and choices have more than {} "
                                 "variants; give fewer",
                                 kMostVariants));
      }
      pairs.push_back(std::move(both));
    }
  }
  if (pairs.empty()) pairs.push_back(false);
  return pairs;
}

absl::StatusOr<bool> SchemaDocument::Impossible(const Schema& schema,
                                                std::string_view pointer,
                                                int depth) const {
  if (schema == Schema(false)) return true;
  const auto empty = [](const Schema& part) {
    const auto listed = part.find("enum");
    return listed != part.end() && listed->is_array() && listed->empty();
  };
  if (!schema.is_object()) return false;
  if (empty(schema)) return true;
  const auto type = schema.find("type");
  if (!schema.contains("required") || type == schema.end() ||
      (*type != Schema("object") && *type != Schema::array({"object"}))) {
    return false;
  }
  // A property that must come and cannot.
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return false;
  for (const nlohmann::json& name : RequiredBy(schema)) {
    if (!name.is_string()) continue;
    const auto found = properties->find(name.get<std::string>());
    if (found == properties->end()) continue;
    TRIVIUM_ASSIGN_OR_RETURN(const Schema part,
                             Merge(*found, Schema(true), pointer, depth + 1));
    if (part == Schema(false) || (part.is_object() && empty(part))) return true;
  }
  return false;
}

absl::Status SchemaDocument::MergeProperties(const Schema& a, const Schema& b,
                                             std::string_view pointer,
                                             Schema* merged) const {
  static const Schema kNone = Schema::object();
  const auto properties_of = [](const Schema& schema) -> const Schema& {
    const auto found = schema.find("properties");
    return found == schema.end() ? kNone : *found;
  };
  const bool a_patterns = a.contains("patternProperties");
  const bool b_patterns = b.contains("patternProperties");
  const Schema* a_rest = RestOf(a);
  const Schema* b_rest = RestOf(b);
  // A name of one schema may match a pattern of the other, which is not known
  // here. Without a schema of the rest, it does not matter: a named property
  // meets its patterns as well.
  const bool same = a_patterns && b_patterns &&
                    a.at("patternProperties") == b.at("patternProperties");
  if ((a_patterns || b_patterns) && ((a_patterns && b_patterns && !same) ||
                                     a_rest != nullptr || b_rest != nullptr)) {
    const auto says_nothing = [](const Schema& schema) {
      return !schema.contains("properties") && RestOf(schema) == nullptr &&
             !schema.contains("patternProperties");
    };
    if (!says_nothing(a) && !says_nothing(b)) {
      return SchemaError(Below(pointer, "patternProperties"),
                         "cannot be joined with another schema's properties");
    }
  }
  if (b_patterns) {
    (*merged)["patternProperties"] = b.at("patternProperties");
  }
  Schema properties = properties_of(a);
  if (!properties.is_object() || !properties_of(b).is_object()) {
    return SchemaError(Below(pointer, "properties"), "must be an object");
  }
  for (auto& [name, schema] : properties.items()) {
    const auto other = properties_of(b).find(name);
    if (other != properties_of(b).end()) {
      schema = Both(schema, *other);
    } else if (b_rest != nullptr) {
      schema = Both(schema, *b_rest);
    }
  }
  for (const auto& [name, schema] : properties_of(b).items()) {
    if (properties.contains(name)) continue;
    properties[name] = a_rest == nullptr ? schema : Both(schema, *a_rest);
  }
  if (!properties.empty()) (*merged)["properties"] = properties;
  if (b_rest != nullptr) {
    (*merged)["additionalProperties"] =
        a_rest == nullptr ? *b_rest : Both(*a_rest, *b_rest);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> SchemaDocument::Disjoint(const Schema& first,
                                              const Schema& second,
                                              std::string_view pointer,
                                              int depth) const {
  TRIVIUM_RETURN_IF_ERROR(
      Take(kStepsPerValue * (DeepSize(first) + DeepSize(second)), pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const Schema a, Flatten(first, pointer, depth));
  TRIVIUM_ASSIGN_OR_RETURN(const Schema b, Flatten(second, pointer, depth));
  if (a == Schema(false) || b == Schema(false)) return true;
  if (!a.is_object() || !b.is_object()) return false;
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes left, TypesOf(a, pointer));
  TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes right, TypesOf(b, pointer));
  if ((left & right) == 0) return true;
  // A choice has no value of the other schema if none of its schemas has one.
  for (const auto& [choice, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const char* keyword : {"anyOf", "oneOf"}) {
      const auto schemas = choice->find(keyword);
      if (schemas == choice->end() || !schemas->is_array()) continue;
      bool all = !schemas->empty();
      for (const Schema& schema : *schemas) {
        TRIVIUM_ASSIGN_OR_RETURN(const bool disjoint,
                                 Disjoint(schema, *other, pointer, depth + 1));
        all = all && disjoint;
        if (!all) break;
      }
      if (all) return true;
    }
  }
  const Schema a_values = ListedValues(a), b_values = ListedValues(b);
  if (!a_values.is_null() && !b_values.is_null()) {
    const std::set<nlohmann::json> values = ValuesIn(b_values);
    return std::none_of(
        a_values.begin(), a_values.end(),
        [&](const Schema& value) { return values.contains(value); });
  }
  if ((left & right) != kObjectType) return false;
  TRIVIUM_RETURN_IF_ERROR(Take(PropertiesOf(a) * PropertiesOf(b), pointer));
  // A property that both must have tells them apart, or one that only one may.
  const auto told_apart = [&](const Schema& one,
                              const Schema& other) -> absl::StatusOr<bool> {
    const auto properties = one.find("properties");
    if (properties == one.end() || !properties->is_object()) return false;
    const auto required = RequiredBy(one),
               required_by_other = RequiredBy(other);
    for (const auto& [name, schema] : properties->items()) {
      if (!required.contains(name)) continue;
      const auto others = other.find("properties");
      if (others != other.end() && others->is_object() &&
          others->contains(name)) {
        if (!required_by_other.contains(name)) continue;
        TRIVIUM_ASSIGN_OR_RETURN(
            const bool disjoint,
            Disjoint(schema, others->at(name), pointer, depth + 1));
        if (disjoint) return true;
      } else if (const Schema* rest = RestOf(other);
                 rest != nullptr && *rest == Schema(false) &&
                 !other.contains("patternProperties")) {
        return true;
      }
    }
    return false;
  };
  TRIVIUM_ASSIGN_OR_RETURN(const bool by_first, told_apart(a, b));
  if (by_first) return true;
  return told_apart(b, a);
}

}  // namespace trivium

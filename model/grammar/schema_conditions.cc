// Conditions become variants: schemas of which a value meets at least one. What
// a schema forbids becomes the opposite of each of its keywords; a keyword's
// opposite is of the keyword's own type, since values of all other types meet
// it:
//
//   {"not": S}              opposites of S
//   {"if": I, "then": T, "else": E}
//                           I and T; opposites of I, and E
//   {"dependentRequired": {"p": ["q"]}}
//                           no p; p and q
//
// A value may meet several variants: it is then read in several ways.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/schema_document.h"

namespace trivium {
namespace {

// The schema of values that meet one of the variants.
Schema AnyVariant(std::vector<Schema> variants) {
  if (variants.empty()) return Schema(false);
  if (variants.size() == 1) return std::move(variants[0]);
  return Schema{{kVariants, std::move(variants)}};
}

Schema WithProperty(std::string_view name, Schema property) {
  return Schema{{"properties", {{std::string(name), std::move(property)}}}};
}

Schema OfType(const char* type, const char* keyword, Schema value) {
  return Schema{{"type", type}, {keyword, std::move(value)}};
}

// A bound whose opposite is another one, moved by `step`.
struct OppositeBound {
  std::string_view keyword;
  const char* type;
  const char* opposite;
  int step;
};
constexpr std::array kOppositeBounds = {
    OppositeBound{"minimum", "number", "exclusiveMaximum", 0},
    OppositeBound{"maximum", "number", "exclusiveMinimum", 0},
    OppositeBound{"exclusiveMinimum", "number", "maximum", 0},
    OppositeBound{"exclusiveMaximum", "number", "minimum", 0},
    OppositeBound{"minLength", "string", "maxLength", -1},
    OppositeBound{"maxLength", "string", "minLength", 1},
    OppositeBound{"minItems", "array", "maxItems", -1},
    OppositeBound{"maxItems", "array", "minItems", 1},
    OppositeBound{"minProperties", "object", "maxProperties", -1},
    OppositeBound{"maxProperties", "object", "minProperties", 1}};

const OppositeBound* OppositeOf(std::string_view keyword) {
  for (const OppositeBound& bound : kOppositeBounds) {
    if (bound.keyword == keyword) return &bound;
  }
  return nullptr;
}

// True for a keyword that every value meets.
bool MeetsAll(std::string_view key, const Schema& value) {
  if (key == "uniqueItems") return value == Schema(false);
  return (key == "items" || key == "additionalItems" ||
          key == "propertyNames" || key == "additionalProperties") &&
         (value == Schema(true) ||
          (value.is_object() && !SchemaDocument::Restricts(value)));
}

bool IsListOfNames(const Schema& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [](const Schema& name) { return name.is_string(); });
}

}  // namespace

absl::StatusOr<std::vector<Schema>> SchemaDocument::Opposite(
    const Schema& schema, std::string_view pointer, int depth) const {
  // Joined with all, a schema has no references, allOf and conditions left.
  TRIVIUM_ASSIGN_OR_RETURN(const Schema flat,
                           Merge(schema, Schema(true), pointer, depth + 1));
  std::vector<Schema> opposite;
  if (flat.is_boolean()) {
    if (!flat.get<bool>()) opposite.push_back(true);
    return opposite;
  }
  // Types are not told apart here: an ill-formed or misspelt keyword shows a
  // mistake in any of them.
  TRIVIUM_RETURN_IF_ERROR(CheckKeywords(flat, /*types=*/0, pointer));
  const auto refuse = [pointer](std::string_view key) {
    return SchemaError(
        pointer, fmt::format("asks for values that do not meet {}, which is "
                             "not supported",
                             key));
  };
  for (const auto& [key, value] : flat.items()) {
    if (IsAnnotation(key) || !Concerns(key, kAllTypes)) continue;
    if (key == "type") {
      TRIVIUM_ASSIGN_OR_RETURN(const JsonTypes types,
                               TypesOf(Schema{{key, value}}, pointer));
      if (types == kAllTypes) continue;
      Schema others = {{key, TypeNames(kAllTypes & ~types)}};
      if ((types & kNumberTypes) == kIntegerType) others[kNotInteger] = true;
      opposite.push_back(std::move(others));
    } else if (key == kNotInteger) {
      opposite.push_back({{"type", "integer"}});
    } else if (key == "const") {
      opposite.push_back({{kExcluded, Schema::array({value})}});
    } else if (key == "enum") {
      opposite.push_back({{kExcluded, value}});
    } else if (key == kExcluded) {
      opposite.push_back({{"enum", value}});
    } else if (key == "pattern") {
      opposite.push_back(
          OfType("string", kOtherPatterns, Schema::array({value})));
    } else if (key == kFurtherPatterns) {
      for (const Schema& pattern : value) {
        opposite.push_back(
            OfType("string", kOtherPatterns, Schema::array({pattern})));
      }
    } else if (key == kOtherPatterns) {
      for (const Schema& pattern : value) {
        opposite.push_back(OfType("string", "pattern", pattern));
      }
    } else if (key == "required") {
      for (const Schema& name : value) {
        Schema without = WithProperty(name.get<std::string>(), false);
        without["type"] = "object";
        opposite.push_back(std::move(without));
      }
    } else if (key == "properties") {
      for (const auto& [name, property] : value.items()) {
        TRIVIUM_ASSIGN_OR_RETURN(
            std::vector<Schema> others,
            Opposite(property, Below(Below(pointer, key), name), depth + 1));
        if (others.empty()) continue;
        Schema with = WithProperty(name, AnyVariant(std::move(others)));
        with["type"] = "object";
        with["required"] = Schema::array({name});
        opposite.push_back(std::move(with));
      }
    } else if (key == "anyOf" || key == kVariants || key == "oneOf") {
      Schema none = Schema::object();
      for (size_t i = 0; i < value.size(); ++i) {
        // A value meets one or none of schemas that share no value.
        for (size_t j = 0; key == "oneOf" && j < i; ++j) {
          TRIVIUM_ASSIGN_OR_RETURN(
              const bool disjoint,
              Disjoint(value[j], value[i], pointer, depth + 1));
          if (!disjoint) return refuse(key);
        }
        const std::string branch =
            key == kVariants ? std::string(pointer)
                             : Below(Below(pointer, key), std::to_string(i));
        TRIVIUM_ASSIGN_OR_RETURN(std::vector<Schema> others,
                                 Opposite(value[i], branch, depth + 1));
        TRIVIUM_ASSIGN_OR_RETURN(
            none,
            Merge(none, AnyVariant(std::move(others)), pointer, depth + 1));
      }
      opposite.push_back(std::move(none));
    } else if ((key == "items" && !flat.contains("prefixItems") &&
                value.is_object()) ||
               (key == "contains" && !flat.contains("minContains") &&
                !flat.contains("maxContains"))) {
      TRIVIUM_ASSIGN_OR_RETURN(std::vector<Schema> others,
                               Opposite(value, Below(pointer, key), depth + 1));
      if (key == "items" && others.empty()) continue;
      opposite.push_back(OfType("array", key == "items" ? "contains" : "items",
                                AnyVariant(std::move(others))));
    } else if (const OppositeBound* bound = OppositeOf(key)) {
      if (bound->step == 0) {
        opposite.push_back(OfType(bound->type, bound->opposite, value));
        continue;
      }
      const double number = value.get<double>();
      if (number < 0 || number > 1e15) return refuse(key);
      const int64_t moved = static_cast<int64_t>(number) + bound->step;
      if (moved >= 0) {
        opposite.push_back(OfType(bound->type, bound->opposite, moved));
      }
    } else if (!MeetsAll(key, value)) {
      return refuse(key);
    }
  }
  return opposite;
}

absl::StatusOr<std::vector<Schema>> SchemaDocument::Conditions(
    const Schema& schema, std::string_view pointer, int depth) const {
  std::vector<Schema> parts;
  if (const auto forbidden = schema.find("not"); forbidden != schema.end()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        std::vector<Schema> variants,
        Opposite(*forbidden, Below(pointer, "not"), depth));
    parts.push_back(AnyVariant(std::move(variants)));
  }
  const auto condition = schema.find("if");
  const auto then = schema.find("then");
  const auto otherwise = schema.find("else");
  if (condition != schema.end() &&
      (then != schema.end() || otherwise != schema.end())) {
    const std::string place = Below(pointer, "if");
    std::vector<Schema> variants;
    const auto add = [&](const Schema& first,
                         const Schema* second) -> absl::Status {
      TRIVIUM_ASSIGN_OR_RETURN(
          Schema both, Merge(first, second == nullptr ? Schema(true) : *second,
                             place, depth + 1));
      TRIVIUM_ASSIGN_OR_RETURN(const bool impossible,
                               Impossible(both, place, depth + 1));
      if (!impossible) variants.push_back(std::move(both));
      return absl::OkStatus();
    };
    TRIVIUM_RETURN_IF_ERROR(
        add(*condition, then == schema.end() ? nullptr : &*then));
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Schema> others,
                             Opposite(*condition, place, depth));
    for (const Schema& other : others) {
      TRIVIUM_RETURN_IF_ERROR(
          add(other, otherwise == schema.end() ? nullptr : &*otherwise));
    }
    parts.push_back(AnyVariant(std::move(variants)));
  }
  for (const char* key :
       {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const auto dependent = schema.find(key);
    if (dependent == schema.end()) continue;
    const std::string place = Below(pointer, key);
    if (!dependent->is_object()) {
      return SchemaError(place, "must be an object");
    }
    for (const auto& [name, what] : dependent->items()) {
      const bool names =
          IsListOfNames(what) && std::string_view(key) != "dependentSchemas";
      if (std::string_view(key) == "dependentRequired" && !names) {
        return SchemaError(Below(place, name), "must be a list of names");
      }
      if (names && what.empty()) continue;
      Schema with = {{"type", "object"}, {"required", Schema::array({name})}};
      TRIVIUM_ASSIGN_OR_RETURN(
          with, Merge(with, names ? Schema{{"required", what}} : what,
                      Below(place, name), depth + 1));
      parts.push_back(AnyVariant({WithProperty(name, false), std::move(with)}));
    }
  }
  return parts;
}

}  // namespace trivium

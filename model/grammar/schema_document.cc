#include "model/grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// A keyword, the types of values that it concerns, and if it is supported.
struct Keyword {
  std::string_view name;
  JsonTypes types;
  bool supported;
};

constexpr std::array kKeywords = {
    Keyword{"type", kAllTypes, true},
    Keyword{"enum", kAllTypes, true},
    Keyword{"const", kAllTypes, true},
    Keyword{"$ref", kAllTypes, true},
    Keyword{"allOf", kAllTypes, true},
    Keyword{"anyOf", kAllTypes, true},
    Keyword{"oneOf", kAllTypes, true},
    Keyword{"minLength", kStringType, true},
    Keyword{"maxLength", kStringType, true},
    Keyword{"pattern", kStringType, true},
    Keyword{"format", kStringType, true},
    Keyword{"minimum", kNumberTypes, true},
    Keyword{"maximum", kNumberTypes, true},
    Keyword{"exclusiveMinimum", kNumberTypes, true},
    Keyword{"exclusiveMaximum", kNumberTypes, true},
    Keyword{"multipleOf", kNumberTypes, true},
    Keyword{"items", kArrayType, true},
    Keyword{"prefixItems", kArrayType, true},
    Keyword{"minItems", kArrayType, true},
    Keyword{"maxItems", kArrayType, true},
    Keyword{"uniqueItems", kArrayType, true},
    Keyword{"properties", kObjectType, true},
    Keyword{"required", kObjectType, true},
    Keyword{"additionalProperties", kObjectType, true},
    Keyword{"patternProperties", kObjectType, true},
    Keyword{"minProperties", kObjectType, true},
    Keyword{"maxProperties", kObjectType, true},
    Keyword{"not", kAllTypes, false},
    Keyword{"if", kAllTypes, false},
    Keyword{"then", kAllTypes, false},
    Keyword{"else", kAllTypes, false},
    Keyword{"$dynamicRef", kAllTypes, false},
    Keyword{"$recursiveRef", kAllTypes, false},
    Keyword{"additionalItems", kArrayType, false},
    Keyword{"contains", kArrayType, false},
    Keyword{"minContains", kArrayType, false},
    Keyword{"maxContains", kArrayType, false},
    Keyword{"unevaluatedItems", kArrayType, false},
    Keyword{"propertyNames", kObjectType, false},
    Keyword{"dependencies", kObjectType, false},
    Keyword{"dependentRequired", kObjectType, false},
    Keyword{"dependentSchemas", kObjectType, false},
    Keyword{"unevaluatedProperties", kObjectType, false},
};

constexpr std::string_view kAnnotations[] = {
    "title",           "description",      "default",     "examples",
    "example",         "deprecated",       "readOnly",    "writeOnly",
    "$schema",         "$comment",         "$defs",       "definitions",
    "contentEncoding", "contentMediaType", "$vocabulary", "contentSchema"};

constexpr std::pair<std::string_view, JsonTypes> kTypeNames[] = {
    {"null", kNullType},      {"boolean", kBooleanType},
    {"number", kNumberTypes}, {"integer", kIntegerType},
    {"string", kStringType},  {"array", kArrayType},
    {"object", kObjectType}};

}  // namespace

absl::Status SchemaError(std::string_view pointer, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", pointer, what));
}

absl::Status At(std::string_view pointer, const absl::Status& status) {
  return absl::Status(
      status.code(),
      fmt::format("{}: {}", pointer, std::string(status.message())));
}

std::string Below(std::string_view pointer, std::string_view key) {
  std::string result = std::string(pointer) + "/";
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

JsonTypes TypeOf(const Schema& value) {
  switch (value.type()) {
    case Schema::value_t::null:
      return kNullType;
    case Schema::value_t::boolean:
      return kBooleanType;
    case Schema::value_t::string:
      return kStringType;
    case Schema::value_t::array:
      return kArrayType;
    case Schema::value_t::object:
      return kObjectType;
    case Schema::value_t::number_float: {
      const double number = value.get<double>();
      return number == std::floor(number) ? kIntegerType : kFractionType;
    }
    default:
      return kIntegerType;
  }
}

absl::StatusOr<const Schema*> SchemaDocument::Resolve(
    const std::string& reference, std::string_view pointer) const {
  if (!reference.starts_with("#") ||
      (reference.size() > 1 && reference[1] != '/')) {
    return SchemaError(pointer,
                       "only references into this schema are followed, such as "
                       "#/$defs/name");
  }
  const Schema* at = &root_;
  for (size_t begin = 1; begin < reference.size();) {
    const size_t end =
        std::min(reference.find('/', begin + 1), reference.size());
    std::string key;
    for (size_t i = begin + 1; i < end; ++i) {
      const std::string_view rest =
          std::string_view(reference).substr(i, end - i);
      if (rest.starts_with("~0") || rest.starts_with("~1")) {
        key += rest[1] == '0' ? '~' : '/';
        ++i;
      } else if (rest.size() >= 3 && rest[0] == '%' &&
                 absl::ascii_isxdigit(rest[1]) &&
                 absl::ascii_isxdigit(rest[2])) {
        key += static_cast<char>(
            std::stoi(std::string(rest.substr(1, 2)), nullptr, 16));
        i += 2;
      } else {
        key += rest[0];
      }
    }
    if (at->is_object() && at->contains(key)) {
      at = &at->at(key);
    } else if (size_t index = 0;
               at->is_array() && !key.empty() && key.size() < 6 &&
               key.find_first_not_of("0123456789") == key.npos &&
               (index = std::stoul(key)) < at->size()) {
      at = &at->at(index);
    } else {
      return SchemaError(pointer,
                         fmt::format("{} points to nothing", reference));
    }
    begin = end;
  }
  return at;
}

bool SchemaDocument::IsAnnotation(std::string_view key) {
  return key.starts_with("x-") ||
         std::find(std::begin(kAnnotations), std::end(kAnnotations), key) !=
             std::end(kAnnotations);
}

bool SchemaDocument::Restricts(const Schema& schema) {
  if (!schema.is_object()) return true;
  for (const auto& [key, value] : schema.items()) {
    if (!IsAnnotation(key)) return true;
  }
  return false;
}

absl::Status SchemaDocument::CheckKeywords(const Schema& schema,
                                           JsonTypes types,
                                           std::string_view pointer) {
  for (const auto& [key, value] : schema.items()) {
    if (IsAnnotation(key)) continue;
    const std::string place = Below(pointer, key);
    bool known = false;
    for (const Keyword& keyword : kKeywords) {
      if (keyword.name != key) continue;
      known = true;
      if (!keyword.supported && (keyword.types & types) != 0) {
        return SchemaError(place, "this keyword is not supported; remove it");
      }
    }
    if (key == "$id" || key == "id") {
      return SchemaError(place,
                         "only the whole schema may have one, since references "
                         "below it would mean something else; remove it");
    }
    if (!known) {
      return SchemaError(
          place, "this keyword is not known; remove it or name it x-...");
    }
  }
  return absl::OkStatus();
}

bool SchemaDocument::Concerns(std::string_view key, JsonTypes types) {
  return std::any_of(
      kKeywords.begin(), kKeywords.end(), [&](const Keyword& keyword) {
        return keyword.name == key && (keyword.types & types) != 0;
      });
}

absl::StatusOr<JsonTypes> SchemaDocument::TypesOf(
    const Schema& schema, std::string_view pointer) const {
  if (!schema.is_object()) return kAllTypes;
  JsonTypes types = kAllTypes;
  if (const auto found = schema.find("type"); found != schema.end()) {
    types = 0;
    const std::string place = Below(pointer, "type");
    const Schema list = found->is_array() ? *found : Schema::array({*found});
    for (const Schema& name : list) {
      JsonTypes type = 0;
      for (const auto& [known, bits] : kTypeNames) {
        if (name.is_string() && name.get_ref<const std::string&>() == known) {
          type = bits;
        }
      }
      if (type == 0) {
        return SchemaError(place,
                           "must be one of null, boolean, number, integer, "
                           "string, array and object, or a list of them");
      }
      types |= type;
    }
  }
  if (const auto found = schema.find("const"); found != schema.end()) {
    types &= TypeOf(*found);
  }
  if (const auto found = schema.find("enum"); found != schema.end()) {
    JsonTypes values = 0;
    for (const Schema& value : *found) values |= TypeOf(value);
    types &= values;
  }
  return types;
}

}  // namespace trivium

#include "model/grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// The kinds of value that a keyword may have.
enum class Shape : uint8_t {
  kAny,
  kNumber,
  kNatural,
  kString,
  kBoolean,
  kNames,    // a list of strings
  kValues,   // a list
  kSchema,   // an object, true or false
  kSchemas,  // a list of them
  kMembers,  // an object
};

// A keyword, the types of values that it concerns, if it is supported, and what
// its own value must be.
struct Keyword {
  std::string_view name;
  JsonTypes types;
  bool supported;
  Shape shape = Shape::kAny;
};

constexpr std::array kKeywords = {
    Keyword{"type", kAllTypes, true},
    Keyword{"enum", kAllTypes, true, Shape::kValues},
    Keyword{"const", kAllTypes, true},
    Keyword{"$ref", kAllTypes, true},
    Keyword{"allOf", kAllTypes, true, Shape::kSchemas},
    Keyword{"anyOf", kAllTypes, true, Shape::kSchemas},
    Keyword{"oneOf", kAllTypes, true, Shape::kSchemas},
    Keyword{"minLength", kStringType, true, Shape::kNatural},
    Keyword{"maxLength", kStringType, true, Shape::kNatural},
    Keyword{"pattern", kStringType, true, Shape::kString},
    Keyword{kFurtherPatterns, kStringType, true},
    Keyword{kOtherPatterns, kStringType, true},
    Keyword{kExcluded, kAllTypes, true},
    Keyword{kNotInteger, kAllTypes, true},
    Keyword{kVariants, kAllTypes, true},
    Keyword{kUnnamed, kObjectType, true},
    Keyword{kUnlisted, kArrayType, true},
    Keyword{"format", kStringType, true, Shape::kString},
    Keyword{"minimum", kNumberTypes, true, Shape::kNumber},
    Keyword{"maximum", kNumberTypes, true, Shape::kNumber},
    Keyword{"exclusiveMinimum", kNumberTypes, true, Shape::kNumber},
    Keyword{"exclusiveMaximum", kNumberTypes, true, Shape::kNumber},
    Keyword{"multipleOf", kNumberTypes, true, Shape::kNumber},
    Keyword{"items", kArrayType, true, Shape::kSchema},
    Keyword{"prefixItems", kArrayType, true, Shape::kSchemas},
    Keyword{"additionalItems", kArrayType, true, Shape::kSchema},
    Keyword{"minItems", kArrayType, true, Shape::kNatural},
    Keyword{"maxItems", kArrayType, true, Shape::kNatural},
    Keyword{"uniqueItems", kArrayType, true, Shape::kBoolean},
    Keyword{"properties", kObjectType, true, Shape::kMembers},
    Keyword{"required", kObjectType, true, Shape::kNames},
    Keyword{"additionalProperties", kObjectType, true, Shape::kSchema},
    Keyword{"patternProperties", kObjectType, true, Shape::kMembers},
    Keyword{"propertyNames", kObjectType, true, Shape::kSchema},
    Keyword{"minProperties", kObjectType, true, Shape::kNatural},
    Keyword{"maxProperties", kObjectType, true, Shape::kNatural},
    // Merge reads conditions; what is looked at here is only their shape.
    Keyword{"not", 0, true, Shape::kSchema},
    Keyword{"if", 0, true, Shape::kSchema},
    Keyword{"then", 0, true, Shape::kSchema},
    Keyword{"else", 0, true, Shape::kSchema},
    Keyword{"$dynamicRef", kAllTypes, false},
    Keyword{"$recursiveRef", kAllTypes, false},
    Keyword{"contains", kArrayType, true, Shape::kSchema},
    Keyword{"minContains", kArrayType, true, Shape::kNatural},
    Keyword{"maxContains", kArrayType, true, Shape::kNatural},
    Keyword{"unevaluatedItems", kArrayType, true, Shape::kSchema},
    Keyword{"dependencies", kObjectType, true, Shape::kMembers},
    Keyword{"dependentRequired", kObjectType, true, Shape::kMembers},
    Keyword{"dependentSchemas", kObjectType, true, Shape::kMembers},
    Keyword{"unevaluatedProperties", kObjectType, true, Shape::kSchema},
    // Keywords of drafts before 4, and of libraries.
    Keyword{"disallow", kAllTypes, false},
    Keyword{"extends", kAllTypes, false},
    Keyword{"divisibleBy", kNumberTypes, false},
    Keyword{"formatMinimum", kStringType, false},
    Keyword{"formatMaximum", kStringType, false},
    Keyword{"formatExclusiveMinimum", kStringType, false},
    Keyword{"formatExclusiveMaximum", kStringType, false},
    Keyword{"propertyDependencies", kObjectType, false},
};

// Returns what the value must be instead; null if it has the shape.
const char* Lacks(const Schema& value, Shape shape) {
  const auto is_schema = [](const Schema& part) {
    return part.is_object() || part.is_boolean();
  };
  const auto all = [&value](const auto& is) {
    return value.is_array() && std::all_of(value.begin(), value.end(), is);
  };
  switch (shape) {
    case Shape::kAny:
      return nullptr;
    case Shape::kNumber:
      return value.is_number() ? nullptr : "must be a number";
    case Shape::kNatural: {
      const double number = value.is_number() ? value.get<double>() : -1;
      return number >= 0 && number == std::floor(number)
                 ? nullptr
                 : "must be a natural number";
    }
    case Shape::kString:
      return value.is_string() ? nullptr : "must be a string";
    case Shape::kBoolean:
      return value.is_boolean() ? nullptr : "must be true or false";
    case Shape::kNames:
      return all([](const Schema& name) { return name.is_string(); })
                 ? nullptr
                 : "must be a list of names";
    case Shape::kValues:
      return value.is_array() ? nullptr : "must be a list of values";
    case Shape::kSchema:
      return is_schema(value) ? nullptr
                              : "a schema must be an object, true or false";
    case Shape::kSchemas:
      return all(is_schema) ? nullptr : "must be a list of schemas";
    case Shape::kMembers:
      return value.is_object() ? nullptr : "must be an object";
  }
  return nullptr;
}

constexpr std::string_view kAnnotations[] = {
    "title", "description", "default", "examples", "example", "deprecated",
    "readOnly", "writeOnly", "$schema", "$comment", "$defs", "definitions",
    "contentEncoding", "contentMediaType", "$vocabulary", "contentSchema",
    "$anchor", "$dynamicAnchor", "$recursiveAnchor",
    // Tools that read schemas of several libraries write it.
    "~standard",
    // OpenAPI's; it is read beside anyOf and oneOf (SchemaCompiler::Tagged).
    "discriminator"};

constexpr std::pair<std::string_view, JsonTypes> kTypeNames[] = {
    {"null", kNullType},      {"boolean", kBooleanType},
    {"number", kNumberTypes}, {"integer", kIntegerType},
    {"string", kStringType},  {"array", kArrayType},
    {"object", kObjectType}};

bool IsKnownAnnotation(std::string_view key) {
  return key.starts_with("x-") ||
         std::find(std::begin(kAnnotations), std::end(kAnnotations), key) !=
             std::end(kAnnotations);
}

// The least number of letters that are added, left out, replaced or swapped to
// make one word of the other; kFar if it is more than 2.
constexpr size_t kFar = 3;
size_t Distance(std::string_view a, std::string_view b) {
  constexpr size_t kMostLetters = 32;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= kFar ||
      std::max(a.size(), b.size()) >= kMostLetters) {
    return kFar;
  }
  std::array<size_t, kMostLetters> before = {}, row = {}, next = {};
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1,
                          row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before = row;
    row = next;
  }
  return std::min(row[b.size()], kFar);
}

// The keyword that a key which is none was perhaps meant to be; empty if there
// is none.
std::string_view Misspelt(std::string_view key) {
  const std::string lower = absl::AsciiStrToLower(std::string(key));
  std::string_view nearest;
  size_t least = kFar;
  for (const Keyword& keyword : kKeywords) {
    const std::string name = absl::AsciiStrToLower(std::string(keyword.name));
    // Many short words are alike.
    const size_t most = name.size() < 6 ? 0 : name.size() < 9 ? 1 : 2;
    const size_t distance = Distance(lower, name);
    if (distance > most || distance >= least) continue;
    nearest = keyword.name;
    least = distance;
  }
  return nearest;
}

// True if there is a reference in the schema.
bool HasReference(const Schema& schema) {
  if (!schema.is_structured()) return false;
  if (schema.is_object() && schema.contains("$ref")) return true;
  return std::any_of(schema.begin(), schema.end(), HasReference);
}

}  // namespace

absl::Status SchemaError(std::string_view pointer, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", pointer, what));
}

absl::Status NothingMeets(std::string_view pointer, std::string_view what) {
  return absl::OutOfRangeError(fmt::format("{}: {}", pointer, what));
}

absl::Status At(std::string_view pointer, const absl::Status& status) {
  return absl::Status(
      status.code(),
      fmt::format("{}: {}", pointer, std::string(status.message())));
}

std::string Below(std::string_view pointer, std::string_view key) {
  std::string result;
  result.reserve(pointer.size() + 1 + key.size());
  result.append(pointer).push_back('/');
  while (true) {
    const size_t plain = std::min(key.find_first_of("~/"), key.size());
    result.append(key.substr(0, plain));
    if (plain == key.size()) return result;
    result += key[plain] == '~' ? "~0" : "~1";
    key.remove_prefix(plain + 1);
  }
}

std::vector<std::string> KeysOf(std::string_view pointer) {
  std::vector<std::string> keys;
  for (size_t i = 1; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      keys.emplace_back();
    } else if (keys.empty()) {
      return keys;
    } else if (const std::string_view rest = pointer.substr(i);
               rest.starts_with("~0") || rest.starts_with("~1")) {
      keys.back() += rest[1] == '0' ? '~' : '/';
      ++i;
    } else {
      keys.back() += pointer[i];
    }
  }
  return keys;
}

std::string UriDecoded(std::string_view key) {
  std::string result;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '%' && i + 2 < key.size() &&
        absl::ascii_isxdigit(key[i + 1]) && absl::ascii_isxdigit(key[i + 2])) {
      result += static_cast<char>(
          std::stoi(std::string(key.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      result += key[i];
    }
  }
  return result;
}

const Schema* PartAt(const Schema& value, const std::string& key) {
  if (value.is_object()) {
    const auto found = value.find(key);
    return found == value.end() ? nullptr : &*found;
  }
  if (!value.is_array() || key.empty() || key.size() > 5 ||
      key.find_first_not_of("0123456789") != key.npos) {
    return nullptr;
  }
  const size_t index = std::stoul(key);
  return index < value.size() ? &value[index] : nullptr;
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

Schema TypeNames(JsonTypes types) {
  Schema names = Schema::array();
  if (types & kNullType) names.push_back("null");
  if (types & kBooleanType) names.push_back("boolean");
  if (types & kFractionType) {
    names.push_back("number");
  } else if (types & kIntegerType) {
    names.push_back("integer");
  }
  if (types & kStringType) names.push_back("string");
  if (types & kArrayType) names.push_back("array");
  if (types & kObjectType) names.push_back("object");
  return names;
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
  for (const std::string& key : KeysOf(reference)) {
    at = PartAt(*at, UriDecoded(key));
    if (at == nullptr) {
      return SchemaError(pointer,
                         fmt::format("{} points to nothing", reference));
    }
  }
  return at;
}

bool SchemaDocument::IsAnnotation(std::string_view key) {
  return IsKnownAnnotation(key) ||
         (key != "$id" && key != "id" &&
          std::none_of(
              kKeywords.begin(), kKeywords.end(),
              [key](const Keyword& keyword) { return keyword.name == key; }));
}

bool SchemaDocument::Restricts(const Schema& schema) {
  if (!schema.is_object()) return true;
  for (const auto& [key, value] : schema.items()) {
    if (!IsAnnotation(key)) return true;
  }
  return false;
}

bool SchemaDocument::HasConditions(const Schema& schema) {
  constexpr std::string_view kConditions[] = {"not",
                                              "if",
                                              "dependentRequired",
                                              "dependentSchemas",
                                              "dependencies",
                                              "unevaluatedProperties",
                                              "unevaluatedItems"};
  for (const auto& [name, value] : schema.get_ref<const Schema::object_t&>()) {
    const std::string_view key = name;
    // Most schemas have none.
    if (key.empty() || std::string_view("nidu").find(key[0]) == key.npos) {
      continue;
    }
    for (const std::string_view condition : kConditions) {
      if (key == condition) return true;
    }
  }
  return false;
}

bool SchemaDocument::ComesOfConditions(const Schema& schema) {
  const auto& members = schema.get_ref<const Schema::object_t&>();
  return std::any_of(members.begin(), members.end(), [](const auto& member) {
    return member.first.starts_with(kConditionMark);
  });
}

absl::Status SchemaDocument::CheckKeywords(const Schema& schema,
                                           JsonTypes types,
                                           std::string_view pointer) {
  for (const auto& [key, value] : schema.items()) {
    if (IsKnownAnnotation(key)) continue;
    const auto error = [pointer, &key = key](std::string_view what) {
      return SchemaError(Below(pointer, key), what);
    };
    bool known = false;
    for (const Keyword& keyword : kKeywords) {
      if (keyword.name != key) continue;
      known = true;
      if (!keyword.supported && (keyword.types & types) != 0) {
        return error("this keyword is not supported; remove it");
      }
      // Keywords of values that the schema allows are checked where they are
      // read. The others change nothing, but an ill-formed one shows a mistake:
      // "required": true in a property is of an older draft.
      if ((keyword.types & types) == 0) {
        if (const char* lack = Lacks(value, keyword.shape)) {
          return error(lack);
        }
      }
    }
    if (key == "$id" || key == "id") {
      // A fragment, as some tools write it, changes no reference.
      const bool fragment =
          value.is_string() &&
          value.get_ref<const std::string&>().starts_with("#");
      if (!fragment && HasReference(schema)) {
        return error(
            "references below it would mean something else; remove it");
      }
    } else if (!known) {
      const std::string_view meant = Misspelt(key);
      if (!meant.empty()) {
        return error(fmt::format(
            "this keyword is not known; write {}, or name it x-...", meant));
      }
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
    const std::span<const Schema> names =
        found->is_array() ? std::span(found->get_ref<const Schema::array_t&>())
                          : std::span(&*found, 1);
    for (const Schema& name : names) {
      JsonTypes type = 0;
      for (const auto& [known, bits] : kTypeNames) {
        if (name.is_string() && name.get_ref<const std::string&>() == known) {
          type = bits;
        }
      }
      if (type == 0) {
        return SchemaError(Below(pointer, "type"),
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
  if (ComesOfConditions(schema) && schema.contains(kNotInteger)) {
    types &= ~kIntegerType;
  }
  return types;
}

}  // namespace trivium

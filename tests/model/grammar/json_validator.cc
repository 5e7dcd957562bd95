#include "tests/model/grammar/json_validator.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>

#include "base/utf8.h"

namespace trivium {
namespace {

using nlohmann::json;

bool HasType(const json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  return value.is_number() &&
         value.get<double>() == std::floor(value.get<double>());
}

bool Search(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

size_t CountValid(const json& value, const json& schemas, const json& root) {
  return static_cast<size_t>(std::count_if(
      schemas.begin(), schemas.end(),
      [&](const json& schema) { return IsValid(value, schema, root); }));
}

bool IsValidObject(const json& value, const json& schema, const json& root) {
  if (value.size() < schema.value("minProperties", size_t{0}) ||
      value.size() > schema.value("maxProperties", value.size())) {
    return false;
  }
  for (const json& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>())) return false;
  }
  for (const char* keyword :
       {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const json dependent = schema.value(keyword, json::object());
    for (const auto& [name, what] : dependent.items()) {
      const json also = what.is_array() ? json({{"required", what}}) : what;
      if (value.contains(name) && !IsValid(value, also, root)) return false;
    }
  }
  const json properties = schema.value("properties", json::object());
  const json patterns = schema.value("patternProperties", json::object());
  for (const auto& [name, member] : value.items()) {
    if (schema.contains("propertyNames") &&
        !IsValid(json(name), schema["propertyNames"], root)) {
      return false;
    }
    bool known = false;
    if (properties.contains(name)) {
      known = true;
      if (!IsValid(member, properties[name], root)) return false;
    }
    for (const auto& [pattern, also] : patterns.items()) {
      if (!Search(name, pattern)) continue;
      known = true;
      if (!IsValid(member, also, root)) return false;
    }
    if (!known && schema.contains("additionalProperties") &&
        !IsValid(member, schema["additionalProperties"], root)) {
      return false;
    }
  }
  return true;
}

bool IsValidArray(const json& value, const json& schema, const json& root) {
  if (value.size() < schema.value("minItems", size_t{0}) ||
      value.size() > schema.value("maxItems", value.size())) {
    return false;
  }
  if (schema.value("uniqueItems", false) &&
      std::set<json>(value.begin(), value.end()).size() < value.size()) {
    return false;
  }
  if (schema.contains("contains")) {
    const size_t met =
        std::count_if(value.begin(), value.end(), [&](const json& item) {
          return IsValid(item, schema["contains"], root);
        });
    if (met < schema.value("minContains", size_t{1}) ||
        met > schema.value("maxContains", met)) {
      return false;
    }
  }
  json prefix = schema.value("prefixItems", json::array());
  json rest = schema.value("items", json(true));
  if (rest.is_array()) {  // as until 2019
    prefix = rest;
    rest = schema.value("additionalItems", json(true));
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const json item = i < prefix.size() ? prefix[i] : rest;
    if (!IsValid(value[i], item, root)) return false;
  }
  return true;
}

// As the decimals of a few digits that both are, not as doubles.
bool IsMultiple(double number, double step) {
  const double times = std::round(number / step);
  return std::abs(number - times * step) <= 1e-12 * std::abs(number);
}

bool IsValidNumber(const json& value, const json& schema) {
  const double number = value.get<double>();
  return !((schema.contains("minimum") && number < schema["minimum"]) ||
           (schema.contains("maximum") && number > schema["maximum"]) ||
           (schema.contains("exclusiveMinimum") &&
            number <= schema["exclusiveMinimum"]) ||
           (schema.contains("exclusiveMaximum") &&
            number >= schema["exclusiveMaximum"]) ||
           (schema.contains("multipleOf") &&
            !IsMultiple(number, schema["multipleOf"].get<double>())));
}

bool IsValidString(const json& value, const json& schema) {
  const std::string text = value.get<std::string>();
  const size_t length = CountCharacters(text);
  return length >= schema.value("minLength", size_t{0}) &&
         length <= schema.value("maxLength", length) &&
         (!schema.contains("pattern") || Search(text, schema["pattern"]));
}

}  // namespace

bool IsValid(const json& value, const json& schema, const json& root) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    if (!IsValid(value, root.at(json::json_pointer(reference.substr(1))),
                 root)) {
      return false;
    }
  }
  if (schema.contains("type")) {
    const json types = schema["type"].is_array()
                           ? schema["type"]
                           : json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(),
                     [&](const json& type) { return HasType(value, type); })) {
      return false;
    }
  }
  if (schema.contains("not") && IsValid(value, schema["not"], root)) {
    return false;
  }
  if (schema.contains("if")) {
    const char* then = IsValid(value, schema["if"], root) ? "then" : "else";
    if (schema.contains(then) && !IsValid(value, schema[then], root)) {
      return false;
    }
  }
  if (schema.contains("const") && value != schema["const"]) return false;
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) ==
          schema["enum"].end()) {
    return false;
  }
  if (schema.contains("allOf") &&
      CountValid(value, schema["allOf"], root) < schema["allOf"].size()) {
    return false;
  }
  if (schema.contains("anyOf") &&
      CountValid(value, schema["anyOf"], root) == 0) {
    return false;
  }
  if (schema.contains("oneOf") &&
      CountValid(value, schema["oneOf"], root) != 1) {
    return false;
  }
  if (value.is_object()) return IsValidObject(value, schema, root);
  if (value.is_array()) return IsValidArray(value, schema, root);
  if (value.is_number()) return IsValidNumber(value, schema);
  return !value.is_string() || IsValidString(value, schema);
}

}  // namespace trivium

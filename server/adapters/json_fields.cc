#include "server/adapters/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/cord.h"
#include "base/whole_number.h"
#include "server/errors/status.h"

namespace trivium {

using nlohmann::json;

namespace {

// For this process: ToRpcStatus leaves it out.
constexpr char kOwnMember[] = "trivium.internal/OwnMember";

// Returns the integer that a number is: JSON's 10, 10.0 and 1e1 are one value.
std::optional<int64_t> IntegerOf(const json& value) {
  if (value.is_number_float()) return WholeNumber(value.get<double>());
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= uint64_t{INT64_MAX}
                        : value.is_number_integer();
  return fits ? std::optional(value.get<int64_t>()) : std::nullopt;
}

}  // namespace

JsonFields::JsonFields(const json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object.is_object()) Fail("", "must be an object");
}

const json* JsonFields::Value(const char* name) {
  known_.insert(name);
  if (!object_.is_object()) return nullptr;
  const auto entry = object_.find(name);
  return entry == object_.end() || entry->is_null() ? nullptr : &*entry;
}

std::optional<std::string> JsonFields::String(const char* name) {
  const json* const value = Value(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Fail(name, "must be a string");
  return std::nullopt;
}

std::optional<bool> JsonFields::Bool(const char* name) {
  const json* const value = Value(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Fail(name, "must be true or false");
  return std::nullopt;
}

std::optional<int64_t> JsonFields::Integer(const char* name, int64_t low,
                                           int64_t high) {
  const json* const value = Value(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> whole = IntegerOf(*value);
  if (whole && *whole >= low && *whole <= high) return whole;
  Fail(name, fmt::format("must be a whole number in {} .. {}", low, high));
  return std::nullopt;
}

std::optional<float> JsonFields::Number(const char* name) {
  const json* const value = Value(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number() &&
      std::isfinite(static_cast<float>(value->get<double>()))) {
    return static_cast<float>(value->get<double>());
  }
  Fail(name, "must be a number");
  return std::nullopt;
}

std::vector<std::string> JsonFields::Strings(const char* name) {
  std::vector<std::string> texts;
  const json* const value = Value(name);
  if (value == nullptr) return texts;
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) {
    Fail(name, "must be a string or a list of strings");
    return texts;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_string()) {
      Fail(fmt::format("{}[{}]", name, i), "must be a string");
      return {};
    }
    texts.push_back((*value)[i].get<std::string>());
  }
  return texts;
}

void JsonFields::Only(const char* name, std::initializer_list<json> values,
                      const char* why) {
  const json* const value = Value(name);
  if (value == nullptr) return;
  if (std::find(values.begin(), values.end(), *value) == values.end()) {
    Fail(name, why);
  }
}

void JsonFields::Ignore(const char* shape, IgnoredMembers* log,
                        std::initializer_list<const char*> names) {
  if (log != nullptr && log->strict()) return;
  for (const char* const name : names) {
    if (Value(name) != nullptr && log != nullptr) log->Note(shape, name);
  }
}

const char* JsonFields::NameAmong(std::initializer_list<const char*> names) {
  const char* found = nullptr;
  for (const char* const name : names) {
    if (Value(name) == nullptr) continue;
    if (found != nullptr) {
      Fail(name, fmt::format("is there beside {}; send one of them", found));
    } else {
      found = name;
    }
  }
  return found != nullptr ? found : *names.begin();
}

void JsonFields::Require(const char* name) {
  if (Value(name) != nullptr) return;
  if (status_.ok()) missing_ = name;
  Fail(name, "is missing");
}

void JsonFields::Fail(const std::string& name, const std::string& description) {
  if (status_.ok()) {
    std::string field = path_ + name;
    if (field.ends_with('.')) field.pop_back();
    status_ = InvalidField(field.empty() ? "body" : field, description);
    status_.SetPayload(kOwnMember, absl::Cord("1"));
  }
}

void JsonFields::Keep(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

absl::Status JsonFields::Done() {
  if (!object_.is_object() || (!status_.ok() && missing_.empty())) {
    return status_;
  }
  constexpr size_t kMostNamed = 4;
  std::vector<std::string> unknown;
  for (const auto& [name, value] : object_.items()) {
    if (unknown.size() == kMostNamed) break;
    if (!value.is_null() && !known_.contains(name)) {
      unknown.push_back(Shorten(name));
    }
  }
  if (unknown.empty()) return status_;
  if (missing_.empty()) {
    Fail(unknown[0], "is not known here and would be ignored; leave it out");
  } else {
    // Another server may call it so.
    status_ = absl::OkStatus();
    Fail(std::exchange(missing_, ""),
         fmt::format("is missing; not known here: {}",
                     fmt::join(unknown, ", ")));
  }
  return status_;
}

bool NamesOwnMember(const absl::Status& status) {
  return status.GetPayload(kOwnMember).has_value();
}

bool IsIds(const json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const json& id) {
           return id.is_number_unsigned() && id.get<uint64_t>() <= UINT32_MAX;
         });
}

void AddIds(const json& value, google::protobuf::RepeatedField<uint32_t>* ids) {
  for (const json& id : value) ids->Add(id.get<uint32_t>());
}

}  // namespace trivium

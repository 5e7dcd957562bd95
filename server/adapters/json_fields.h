#ifndef TRIVIUM_SERVER_ADAPTERS_JSON_FIELDS_H_
#define TRIVIUM_SERVER_ADAPTERS_JSON_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads the members of a JSON object one by one, and keeps the first error, so
// that a list of members reads as a list. null is as if it were not there. A
// member that nobody has read is an error: it would be ignored.
//
//   JsonFields fields(body, "");
//   const auto model = fields.String("model");
//   if (auto n = fields.Integer("n", 1, 16)) ...
//   TRIVIUM_RETURN_IF_ERROR(fields.Done());
class JsonFields {
 public:
  // `path`: what the names of its members begin with in errors, as
  // "messages[1].". The object outlives the reader.
  JsonFields(const nlohmann::json& object, std::string path);

  std::optional<std::string> String(const char* name);
  std::optional<bool> Bool(const char* name);
  std::optional<int64_t> Integer(const char* name, int64_t low, int64_t high);
  std::optional<float> Number(const char* name);
  // A text or several.
  std::vector<std::string> Strings(const char* name);
  // Any value; null where it is not there.
  const nlohmann::json* Value(const char* name);

  // A member that changes nothing here unless it is another than these.
  // `why`: what is said then, "is not supported: ...".
  void Only(const char* name, std::initializer_list<nlohmann::json> values,
            const char* why);
  // INVALID_ARGUMENT where it is not there.
  void Require(const char* name);
  void Fail(const std::string& name, const std::string& description);

  // The error of what a member has in it, which tells its whole place.
  void Keep(const absl::Status& status);

  bool ok() const { return status_.ok(); }
  absl::Status Done();

 private:
  const nlohmann::json& object_;
  const std::string path_;
  std::set<std::string, std::less<>> known_;
  absl::Status status_;
};

// Numbers that are ids of tokens.
bool IsIds(const nlohmann::json& value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_JSON_FIELDS_H_

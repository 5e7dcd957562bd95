#ifndef TRIVIUM_SERVER_ADAPTERS_JSON_FIELDS_H_
#define TRIVIUM_SERVER_ADAPTERS_JSON_FIELDS_H_

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "server/observability/ignored_members.h"

namespace trivium {

// Why a value that the server does not know is an error; see Only.
inline constexpr char kNotSupported[] = "is not supported; leave it out";

// Reads the members of a JSON object one by one and keeps the first error, so
// that the code reads as a list of members. null is the same as no member. A
// member that nobody has read is an error, as it would be ignored.
//
//   JsonFields fields(body, "");
//   const auto model = fields.String("model");
//   if (auto n = fields.Integer("n", 1, 16)) ...
//   TRIVIUM_RETURN_IF_ERROR(fields.Done());
class JsonFields {
 public:
  // In errors, `path` stands before the names of members: "messages[1].". The
  // object outlives the reader.
  JsonFields(const nlohmann::json& object, std::string path);

  std::optional<std::string> String(const char* name);
  std::optional<bool> Bool(const char* name);
  std::optional<int64_t> Integer(const char* name, int64_t low, int64_t high);
  std::optional<float> Number(const char* name);
  // A string or a list of strings.
  std::vector<std::string> Strings(const char* name);
  // Any value; null if there is none.
  const nlohmann::json* Value(const char* name);

  // A member that the server ignores if it has one of these values. Others are
  // an error, `why`: "is not supported: ...".
  void Only(const char* name, std::initializer_list<nlohmann::json> values,
            const char* why);
  // Members that requests of this shape ("OpenAI") may have and that cannot
  // change the answer, whatever they are. They are errors if `log` is strict;
  // it may be null.
  void Ignore(const char* shape, IgnoredMembers* log,
              std::initializer_list<const char*> names);
  // Returns which of a member's names the object has; the first if it has none.
  // Two of them at once are an error.
  const char* NameAmong(std::initializer_list<const char*> names);
  // INVALID_ARGUMENT if there is no such member.
  void Require(const char* name);
  void Fail(const std::string& name, const std::string& description);

  // Keeps the error of a member's content, which has its whole path already.
  void Keep(const absl::Status& status);

  // The prefix of members' names in errors: "messages[1].".
  const std::string& path() const { return path_; }
  bool ok() const { return status_.ok(); }
  absl::Status Done();

 private:
  const nlohmann::json& object_;
  const std::string path_;
  std::set<std::string, std::less<>> known_;
  std::string missing_;  // the required member that the first error is about
  absl::Status status_;
};

// True if the status is an error of JsonFields. Its field is the request's own
// member, so it is no name of trivium.v1 to be replaced.
bool NamesOwnMember(const absl::Status& status);

// True if the value is a list of token ids.
bool IsIds(const nlohmann::json& value);
// Appends the ids of such a list.
void AddIds(const nlohmann::json& value,
            google::protobuf::RepeatedField<uint32_t>* ids);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_JSON_FIELDS_H_

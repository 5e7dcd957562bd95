#ifndef TRIVIUM_SERVER_ADAPTERS_FORM_BODY_H_
#define TRIVIUM_SERVER_ADAPTERS_FORM_BODY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "server/adapters/codec.h"

namespace trivium {

// Bodies as HTML forms and most HTTP libraries make them.

inline constexpr char kUrlEncoded[] = "application/x-www-form-urlencoded";

struct FormField {
  std::string name;
  std::string value;                                    // UTF-8, but for files
  std::optional<std::string> file_name = std::nullopt;  // if it is a file
};

// True if the body is a form, by its content type.
bool IsForm(const RequestHead& head);

// PERMISSION_DENIED for a form that a browser sends. Unlike JSON, a web page
// may send forms to any address that its reader's browser reaches, without
// asking the server first (cross-site request forgery). Browsers reveal that by
// Origin and Sec-Fetch-Site, which Go's http.CrossOriginProtection checks, too.
// Forms of all pages are refused, but for pages that may send JSON, too
// (RequestHead::trusted_page).
absl::Status CheckFormIsNoPages(const RequestHead& head);

// Parses application/x-www-form-urlencoded or multipart/form-data (RFC 7578).
// `type` is the whole Content-Type, which names the boundary. INVALID_ARGUMENT
// says what is wrong.
absl::StatusOr<std::vector<FormField>> ParseForm(std::string_view type,
                                                 std::string_view body);

// Makes an object of the fields; each member is a string. INVALID_ARGUMENT
// names a field that is set twice or is a file.
absl::StatusOr<nlohmann::json> FormToJson(std::vector<FormField> fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_FORM_BODY_H_

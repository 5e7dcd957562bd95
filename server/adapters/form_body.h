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

// Bodies as HTML's forms and most libraries of HTTP make them.

struct FormField {
  std::string name;
  std::string value;                                    // UTF-8
  std::optional<std::string> file_name = std::nullopt;  // of a file
};

// Whether the body is a form, by its type.
bool IsForm(const RequestHead& head);

// PERMISSION_DENIED for a form that a browser sends. A web page may send forms,
// unlike JSON, to any address that its reader's browser reaches, without being
// asked for leave first (cross-site request forgery). Browsers say so by Origin
// and Sec-Fetch-Site, which Go's http.CrossOriginProtection looks at, too; here
// no page is given leave, whichever it is from.
absl::Status CheckFormIsNoPages(const RequestHead& head);

// Of application/x-www-form-urlencoded, or of multipart/form-data (RFC 7578);
// `type` is the whole Content-Type, which names the boundary. INVALID_ARGUMENT
// tells what is wrong.
absl::StatusOr<std::vector<FormField>> ParseForm(std::string_view type,
                                                 std::string_view body);

// The fields as the members of an object, each a string. An error names one
// that is there twice, or is a file.
absl::StatusOr<nlohmann::json> FormToJson(std::vector<FormField> fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_FORM_BODY_H_

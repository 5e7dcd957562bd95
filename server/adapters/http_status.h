#ifndef TRIVIUM_SERVER_ADAPTERS_HTTP_STATUS_H_
#define TRIVIUM_SERVER_ADAPTERS_HTTP_STATUS_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/adapters/codec.h"

namespace trivium {

// The status of HTTP for a call's code, as Connect's protocol maps them; kinds
// of clients that expect another say so.
int HttpStatusOf(absl::StatusCode code);

// "invalid_argument", as Connect's protocol names codes.
std::string_view ConnectCodeOf(absl::StatusCode code);

// What a kind of clients calls a field, or what fields begin with: "inputs" ->
// "input", "decoding." -> "". The first that fits counts.
struct FieldName {
  std::string_view field, name;
};

// The message of an ending for people, with the request's id, and within what
// is sent; fields have the clients' `names`.
std::string MessageOf(const Ending& ending,
                      std::span<const FieldName> names = {});

// The field that a status complains of, in the words of trivium.v1
// ("inputs[3].text") but for `names`; empty where it names none.
std::string FieldOf(const absl::Status& status,
                    std::span<const FieldName> names = {});

// The type of a request's body, in lower case and without parameters.
std::string TypeOf(const RequestHead& head);

// UNIMPLEMENTED where a body is compressed.
absl::Status CheckEncoding(const RequestHead& head, const char* header);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_HTTP_STATUS_H_

#ifndef TRIVIUM_SERVER_ADAPTERS_HTTP_STATUS_H_
#define TRIVIUM_SERVER_ADAPTERS_HTTP_STATUS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/adapters/codec.h"

namespace trivium {

// Returns the HTTP status for a call's code, as Connect's protocol maps them.
// Codecs whose clients expect another one override Codec::StatusOf.
int HttpStatusOf(absl::StatusCode code);

// Returns the code's name in Connect's protocol: "invalid_argument".
std::string_view ConnectCodeOf(absl::StatusCode code);

// A kind of client's name of one of our fields, or of a prefix of fields:
// "inputs" -> "input", "decoding." -> "". In a list, the first that fits
// counts.
struct FieldName {
  std::string_view field, name;
};

// Returns the message of an ending for people, with the request's id, cut to
// the length that may be sent. Fields have the client's `names`.
std::string MessageOf(const Ending& ending,
                      std::span<const FieldName> names = {});

// Returns the field that a status complains about; empty if it names none. It
// has the client's name if that is among `names`, else trivium.v1's
// ("inputs[3].text").
std::string FieldOf(const absl::Status& status,
                    std::span<const FieldName> names = {});

// An error about one of a call's inputs.
struct InputError {
  size_t input;
  std::string description;  // without the field's name
};
// Returns nullopt if the status is about no input ("inputs[3].text", "input").
std::optional<InputError> InputErrorOf(const absl::Status& status);

// Returns the type of a request's body, in lower case and without parameters.
std::string TypeOf(const RequestHead& head);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_HTTP_STATUS_H_

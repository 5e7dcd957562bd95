#ifndef TRIVIUM_SERVER_ERRORS_STATUS_H_
#define TRIVIUM_SERVER_ERRORS_STATUS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace trivium {

// Statuses of the API. An error is an absl::Status whose payloads are the
// google.rpc details; a transport sends both to the client. This header needs
// no protobuf, so libraries that know no messages can refuse fields of calls;
// rpc_status.h makes the message.

// Longer messages are cut: they quote what clients send, and gRPC's trailers
// must fit the 8 KiB that clients accept.
inline constexpr size_t kMaxMessageBytes = 1500;

// Returns INVALID_ARGUMENT with a google.rpc.BadRequest: "inputs[3].text: ...".
absl::Status InvalidField(const std::string& field,
                          const std::string& description);

// The same for an input that, with what is asked of it, has more tokens than
// the model reads. Over gRPC the two do not differ.
absl::Status TooManyTokens(const std::string& field,
                           const std::string& description);
// True if the status is from TooManyTokens.
bool IsTooManyTokens(const absl::Status& status);

// Returns `status` with a google.rpc.RetryInfo. The delay becomes up to half as
// long again at random, so that refused clients do not all return at once.
absl::Status WithRetry(absl::Status status, absl::Duration delay);

// Returns the delay that WithRetry set, if any.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

// Cuts a text between two characters, for messages that quote input.
std::string Shorten(std::string_view text, size_t max_bytes = 64);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ERRORS_STATUS_H_

#ifndef TRIVIUM_SERVER_CALLS_CONVERT_INPUT_FIELDS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_INPUT_FIELDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "server/calls/convert/convert.h"

namespace trivium {

// Fields that several calls have: their inputs, how many results are wanted,
// and what a result says about its input.

// The elements of a repeated field. They live as long as its message, which
// does not change meanwhile.
template <typename Element>
using Elements = std::span<const Element* const>;
template <typename Element>
Elements<Element> ToElements(
    const google::protobuf::RepeatedPtrField<Element>& field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

// Returns the inputs of a request; INVALID_ARGUMENT if there are none, or more
// than a call may have.
template <typename Request>
auto ReadInputs(const Request& request, const RequestLimits& limits)
    -> absl::StatusOr<decltype(ToElements(request.inputs()))> {
  TRIVIUM_RETURN_IF_ERROR(
      CheckInputCount(request.inputs_size(), "inputs", limits));
  return ToElements(request.inputs());
}

// Returns the text of an input; null if it is a pair or ids.
inline const std::string* TextOf(const v1::Input& in) {
  return in.has_text() ? &in.text() : nullptr;
}

// Returns how many of the best results a request asks for; unset: the default.
template <typename Request>
std::optional<uint32_t> TopOf(const Request& request) {
  return request.has_top() ? std::optional(request.top()) : std::nullopt;
}

// INVALID_ARGUMENT if the value of a field is set and not 1 .. `most`.
absl::Status CheckRange(std::string_view field, std::optional<uint32_t> value,
                        uint32_t most);

// Adds a result that says how many tokens its input has.
template <typename Response>
auto* AddResult(const PreparedInput& input, Response* response) {
  auto* result = response->add_results();
  result->set_token_count(static_cast<uint32_t>(input.source.ids.size()));
  result->set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  return result;
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_INPUT_FIELDS_H_

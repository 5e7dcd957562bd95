#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_REQUEST_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_REQUEST_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "server/adapters/http_status.h"
#include "server/adapters/openai_request.h"
#include "server/observability/ignored_members.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A request of OpenAI's Responses API.
struct ResponsesRequest {
  v1::GenerateRequest request;
  CompletionOptions options;
  std::optional<std::string> effort;  // `reasoning.effort`
  // The members that a response repeats, as its client reads them.
  nlohmann::ordered_json echo;
  // Pairs of a field of `request` and the client's name for it.
  std::vector<std::pair<std::string, std::string>> names;

  std::vector<FieldName> field_names() const;
};

// Reads a request. INVALID_ARGUMENT names the member that is wrong, or that
// asks for what this server has not, and what to do. `ignored` may be null
// (JsonFields::Ignore). After an error `out` has what was read before it.
absl::Status ReadResponsesRequest(std::string_view body,
                                  IgnoredMembers* ignored,
                                  ResponsesRequest* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_REQUEST_H_

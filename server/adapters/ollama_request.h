#ifndef TRIVIUM_SERVER_ADAPTERS_OLLAMA_REQUEST_H_
#define TRIVIUM_SERVER_ADAPTERS_OLLAMA_REQUEST_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "server/calls/allowed_models.h"
#include "server/observability/ignored_members.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The two paths whose answer is a text.
enum class OllamaPath {
  kChat,      // /api/chat
  kGenerate,  // /api/generate
};

// A request to one of them.
struct OllamaRequest {
  v1::GenerateRequest generate;
  ModelHandle model;  // answers
  bool stream = true;
  bool logprobs = false;
  int top_logprobs = 0;  // alternatives to show for each token
};

// Reads a request. A model that takes chats gets a chat of both paths, and
// samples by the defaults of chats; `raw`, and a model without a chat template,
// gets the prompt as it is. A request without a model asks the first that takes
// chats, if it may be one. Messages and a prompt may be missing, as in requests
// that only load a model. `ignored` may be null (JsonFields::Ignore).
// INVALID_ARGUMENT names the member that is wrong, NOT_FOUND the model.
absl::StatusOr<OllamaRequest> ReadOllamaRequest(std::string_view body,
                                                OllamaPath path,
                                                const AllowedModels& models,
                                                IgnoredMembers* ignored);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OLLAMA_REQUEST_H_

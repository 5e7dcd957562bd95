#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_REQUEST_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_REQUEST_H_

#include <vector>

#include "nlohmann/json.hpp"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What a request for a completion asks for beside the answer itself.
struct CompletionOptions {
  bool stream = false;
  bool include_usage = false;  // at a stream's end
  bool logprobs = false;
  // Alternatives to show for each token; the call is asked for at least one,
  // with which the token's own log-probability comes.
  int top_logprobs = 0;
};

// The options that completions of chats and of texts share.
void ReadCompletionOptions(JsonFields* fields, v1::GenerateRequest* request,
                           CompletionOptions* options);

// What else is of completions of texts only; the inputs of `prompt`, one of
// which a request is to have.
std::vector<v1::Input> ReadPrompts(JsonFields* fields,
                                   v1::GenerateRequest* request,
                                   CompletionOptions* options);

// `messages`, and what else is of chats only.
void ReadChat(JsonFields* fields, v1::GenerateRequest* request,
              CompletionOptions* options);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_REQUEST_H_

#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_REQUEST_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_REQUEST_H_

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "server/adapters/http_status.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai_thinking.h"
#include "server/adapters/openai_tools.h"
#include "server/adapters/written_body.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The name of this shape in JsonFields::Ignore.
inline constexpr char kOpenAiShape[] = "OpenAI";
inline constexpr char kNoStoredFiles[] =
    "is not supported, as no files are stored here; send the file itself as "
    "file_data";

inline constexpr char kNoArguments[] =
    "is not the text of a JSON object; leave out a call that was cut, and its "
    "result";

// The options of a completion that its GenerateRequest has no place for.
struct CompletionOptions {
  bool stream = false;
  bool include_usage = false;  // at a stream's end
  bool chunk_usage = false;    // in each chunk, too
  bool logprobs = false;
  // Alternatives to show for each token. The call always asks for at least one,
  // because the token's own log-probability comes with it.
  int top_logprobs = 0;
  // vLLM's: alternatives to show for each token of the prompt; unset: nobody
  // asked for the prompt's.
  std::optional<int> prompt_logprobs;
  // The request's names of fields that clients call differently: of
  // max_new_tokens, repetition_penalty, truncate and the constraint.
  const char* max_tokens_name = "max_tokens";
  const char* repetition_name = "repetition_penalty";
  const char* truncate_name = "truncate";
  const char* constraint_name = "constraint";
  bool echo = false;  // begin the text with the prompt
  // With echo and max_tokens 0: the answer has no new tokens. The call makes
  // one all the same, which is not shown.
  bool prompt_only = false;
  OpenAiThinking thinking;  // of chats, for SetOpenAiThinking
  // Names of fields of tools that KeepAllowedTools moved.
  ToolNames tool_names;
};

// The names that a completion's request has for the fields of its call.
std::vector<FieldName> CompletionNames(const CompletionOptions& options);
// Adds the names that a request has for the fields of its options.
void AddOptionNames(const CompletionOptions& options,
                    std::vector<FieldName>* names);

// Reads the options that completions of chats and of texts share. `ignored` may
// be null (JsonFields::Ignore).
void ReadCompletionOptions(JsonFields* fields, IgnoredMembers* ignored,
                           v1::GenerateRequest* request,
                           CompletionOptions* options);

// Fails for a shape whose streams tell the usage at their end only.
void RefuseChunkUsage(JsonFields* fields);

// Reads the most tokens of an answer, for which the shape has these names.
void ReadLimit(JsonFields* fields, std::initializer_list<const char*> names,
               v1::GenerateRequest* request, CompletionOptions* options);

// Reads the options of completions of texts alone. Returns the inputs of
// `prompt`, each of which goes into a request of its own.
std::vector<v1::Input> ReadPrompts(JsonFields* fields,
                                   v1::GenerateRequest* request,
                                   CompletionOptions* options);

// Reads a body of /v1/chat/completions, and members that `read_more` adds to
// it; finds its model, and sets how much that thinks.
absl::StatusOr<ModelHandle> ReadOpenAiChat(
    std::string_view body, const AllowedModels& models, IgnoredMembers* ignored,
    v1::GenerateRequest* request, CompletionOptions* options,
    const std::function<void(JsonFields*)>& read_more = nullptr);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_REQUEST_H_

#ifndef TRIVIUM_SERVER_CALLS_CONVERT_GENERATE_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_GENERATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/calls/convert/convert.h"

namespace trivium {

// The options of a GenerateRequest.
struct GenerateJob {
  // The request's field that has the input.
  const char* field() const { return chat ? "chat" : "input"; }
  // True if the input is a prompt rather than a source.
  bool prompted() const {
    return options.model->info().design == Design::kDecoder;
  }
  int hypotheses() const { return decoding.options.hypotheses; }

  InputOptions options;
  CallDecoding decoding;
  bool chat = false;      // the input is a chat
  bool parts = false;     // its answer is returned in parts
  bool show_ids = false;  // of new tokens
  bool piece_usage = false;
  std::string salt;
  std::optional<int> prompt_logprobs;  // alternatives of each prompt token
  std::optional<MapSelection> attention;
  std::optional<HeadChoice> traced_head;
};

// Checks all that needs no tokenizer. The model has a decoder.
absl::StatusOr<GenerateJob> ReadGenerate(const v1::GenerateRequest& in,
                                         const Environment& environment,
                                         const ServedModel& served,
                                         AliveCheck check_alive);

// The bytes of the input (TextBytes); of a chat, those of its message.
int64_t TextBytes(const v1::GenerateRequest& in);
// Tokenizes the input. `now` and `prompt`, which is filled for chats only, are
// ConvertChat's.
absl::StatusOr<PreparedInput> ReadGenerateInput(const v1::GenerateRequest& in,
                                                const GenerateJob& job,
                                                absl::Time now,
                                                ChatPrompt* prompt);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_GENERATE_H_
